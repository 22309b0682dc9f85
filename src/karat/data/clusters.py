"""The strongly log-concave laws: Gaussian, truncated Gaussian and quartic."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import torch
from scipy.integrate import quad
from scipy.special import dawsn, erf, gammainc, ndtr
from torch import Tensor

from karat.core.ranges import Positive, checked
from karat.data.cluster_law import ClusterLaw, solve_psi2

# The unit quartic density is below 1e-1000 from here on, so its integrals may stop.
_QUARTIC_END = 10.0


@dataclass(frozen=True)
@checked
class Gaussian:
    r"""The law :math:`N(0, \text{scale}^2)`.

    Args:
        scale: standard deviation.

    Example:
        >>> law = Gaussian()
        >>> law.log_concavity, law.variance, round(law.psi2, 4)
        (1.0, 1.0, 1.633)

    Ref: benign, Def 2.1
    """

    scale: Positive = 1.0

    @property
    def log_concavity(self) -> float:
        """1 / scale^2."""
        return 1 / self.scale**2

    @property
    def variance(self) -> float:
        """scale^2."""
        return self.scale**2

    @property
    def psi2(self) -> float:
        r""":math:`s \sqrt{8/3}` for scale s, as :math:`\mathbb{E}\, e^{X^2/K^2} = (1 - 2 s^2/K^2)^{-1/2}`."""
        return self.scale * math.sqrt(8 / 3)

    def log_density(self, x: Tensor) -> Tensor:
        """Return log p(x)."""
        return -0.5 * (x / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def tail(self, t: float) -> float:
        """Return P(X > t)."""
        return float(ndtr(-t / self.scale))

    def rescaled(self, factor: float) -> Self:
        """Return the law of factor * X."""
        return replace(self, scale=self.scale * factor)

    def sample(self, shape: tuple[int, ...], *, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Draw independent coordinates.

        Args:
            shape: of the tensor.
            generator: of the draw.
            dtype: of the tensor.
        """
        return torch.randn(shape, generator=generator, dtype=dtype).mul_(self.scale)


@lru_cache
def _truncated_psi2(cut: float, variance: float) -> float:
    def log_moment(K: float) -> float:
        # int_0^cut exp(-rate x^2) dx in closed form, in logs because exp(cut^2) may overflow.
        rate = 0.5 - 1 / K**2
        root = math.sqrt(abs(rate))
        if root * cut < 1e-8:
            half_mass = math.log(cut)
        elif rate > 0:
            half_mass = math.log(math.sqrt(math.pi) / 2 * float(erf(root * cut)) / root)
        else:
            half_mass = (root * cut) ** 2 + math.log(float(dawsn(root * cut)) / root)
        return half_mass - math.log(math.sqrt(math.pi / 2) * float(erf(cut / math.sqrt(2))))

    return solve_psi2(log_moment, variance)


@dataclass(frozen=True)
@checked
class TruncatedGaussian:
    r""":math:`N(0, \text{scale}^2)` conditioned on :math:`|X| \le \text{cut} \cdot \text{scale}`.

    Args:
        cut: largest absolute value in units of the scale.
        scale: standard deviation before the cut.

    Example:
        >>> law = TruncatedGaussian(cut=2.0)
        >>> law.log_concavity, round(law.variance, 4), round(law.psi2, 4)
        (1.0, 0.7737, 1.2642)

    Ref: benign, Def 2.1
    """

    cut: Positive
    scale: Positive = 1.0

    @property
    def _mass(self) -> float:
        return float(erf(self.cut / math.sqrt(2)))

    @property
    def _unit_variance(self) -> float:
        # P(chi2_3 <= cut^2) / P(chi2_1 <= cut^2): no cancellation at a small cut.
        return float(gammainc(1.5, self.cut**2 / 2) / gammainc(0.5, self.cut**2 / 2))

    @property
    def log_concavity(self) -> float:
        """1 / scale^2: truncation to an interval keeps the curvature."""
        return 1 / self.scale**2

    @property
    def variance(self) -> float:
        r""":math:`s^2 \big(1 - 2 c\, \varphi(c) / P(|N| \le c)\big)` with the cut c and the scale s."""
        return self.scale**2 * self._unit_variance

    @property
    def psi2(self) -> float:
        """Sub-Gaussian norm, the root of a closed form."""
        return self.scale * _truncated_psi2(self.cut, self._unit_variance)

    def log_density(self, x: Tensor) -> Tensor:
        """Return log p(x), -inf beyond the cut."""
        unit = x / self.scale
        value = -0.5 * unit**2 - math.log(self.scale * math.sqrt(2 * math.pi) * self._mass)
        return value.masked_fill(unit.abs() > self.cut, -math.inf)

    def tail(self, t: float) -> float:
        """Return P(X > t)."""
        unit = min(max(t / self.scale, -self.cut), self.cut)
        return float((ndtr(-unit) - ndtr(-self.cut)) / self._mass)

    def rescaled(self, factor: float) -> Self:
        """Return the law of factor * X."""
        return replace(self, scale=self.scale * factor)

    def sample(self, shape: tuple[int, ...], *, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Draw independent coordinates by the inverse distribution function.

        Args:
            shape: of the tensor.
            generator: of the draw.
            dtype: of the tensor.
        """
        uniform = torch.rand(shape, generator=generator, dtype=dtype).mul_(2).sub_(1)
        unit = uniform.mul_(self._mass).erfinv_().mul_(math.sqrt(2))
        return unit.clamp_(-self.cut, self.cut).mul_(self.scale)


def _quartic_integral(curvature: float, power: int, start: float = 0.0) -> float:
    r""":math:`\int_s^\infty x^p\, e^{-c x^2 / 2 - x^4 / 4}\, dx` for curvature c, power p and start s."""
    value, _ = quad(
        lambda x: x**power * math.exp(-curvature * x**2 / 2 - x**4 / 4),
        min(start, _QUARTIC_END),
        _QUARTIC_END,
        epsabs=1e-200,
        epsrel=1e-12,
    )
    return float(value)


@lru_cache
def _quartic_constants() -> tuple[float, float, float]:
    """Half the normalising constant, the variance and psi2 of the unit quartic law."""
    half = _quartic_integral(1.0, 0)
    variance = _quartic_integral(1.0, 2) / half
    psi2 = solve_psi2(lambda K: math.log(_quartic_integral(1 - 2 / K**2, 0) / half), variance)
    return half, variance, psi2


@dataclass(frozen=True)
@checked
class Quartic:
    r"""The law of scale * X, X of density proportional to :math:`e^{-x^2/2 - x^4/4}`: tails below Gaussian.

    Args:
        scale: of the law.

    Example:
        >>> law = Quartic()
        >>> law.log_concavity, round(law.variance, 4), round(law.psi2, 4)
        (1.0, 0.4679, 1.0043)

    Ref: benign, Def 2.1
    """

    scale: Positive = 1.0

    @property
    def log_concavity(self) -> float:
        r"""1 / scale^2: for scale 1 the curvature is :math:`1 + 3 x^2`, smallest at 0."""
        return 1 / self.scale**2

    @property
    def variance(self) -> float:
        """E X^2 by quadrature."""
        return self.scale**2 * _quartic_constants()[1]

    @property
    def psi2(self) -> float:
        """Sub-Gaussian norm by quadrature and root finding."""
        return self.scale * _quartic_constants()[2]

    def log_density(self, x: Tensor) -> Tensor:
        """Return log p(x)."""
        square = (x / self.scale) ** 2
        return -square / 2 - square**2 / 4 - math.log(2 * self.scale * _quartic_constants()[0])

    def tail(self, t: float) -> float:
        """Return P(X > t)."""
        mass = _quartic_integral(1.0, 0, start=abs(t) / self.scale) / (2 * _quartic_constants()[0])
        return mass if t >= 0 else 1 - mass

    def rescaled(self, factor: float) -> Self:
        """Return the law of factor * X."""
        return replace(self, scale=self.scale * factor)

    def sample(self, shape: tuple[int, ...], *, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        r"""Draw independent coordinates: a standard normal x is accepted with probability :math:`e^{-x^4/4}`.

        Args:
            shape: of the tensor.
            generator: of the draw.
            dtype: of the tensor.
        """
        accepted = torch.empty(0, dtype=dtype)
        total = math.prod(shape)
        while len(accepted) < total:
            # About 77 % are accepted, so one round nearly always suffices.
            normal = torch.randn(int(1.35 * (total - len(accepted))) + 64, generator=generator, dtype=dtype)
            uniform = torch.rand(normal.shape, generator=generator, dtype=dtype)
            accepted = torch.cat([accepted, normal[uniform < torch.exp(-(normal**4) / 4)]])
        return accepted[:total].reshape(shape).mul(self.scale)


CLUSTERS: dict[str, Callable[..., ClusterLaw]] = {
    "gaussian": Gaussian,
    "truncated_gaussian": TruncatedGaussian,
    "quartic": Quartic,
}
