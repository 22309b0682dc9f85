"""The sparse-coding model: sparse combinations of dictionary columns, with dense and spike noise."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from karat.core.checks import require_choice, require_integer, require_shape
from karat.core.ranges import NonNegative, checked
from karat.data.dictionaries import draw_dictionary, is_identity
from karat.data.samples import Samples
from karat.data.sparse_code import SparseCode

# <w*, z> of magnitude below this is a tie that rounding has hidden: sign(0) = +1 must see it as zero.
_TIE = 1e-12


def draw_w_star(kind: str, D: int, *, generator: torch.Generator) -> Tensor:
    r"""Draw the label vector :math:`w^*`, :math:`|w^*_j| = \Theta(1)`.

    Args:
        kind: "ones" (all +1), "signs" (fair signs) or "spread" (fair signs times a uniform on [0.7, 1.3]).
        D: length.
        generator: of the draw.

    Ref: purification, Asm 2.1
    """
    require_choice(kind, "w_star", "draw_w_star", ["ones", "signs", "spread"])
    draws = torch.rand(2, D, generator=generator, dtype=torch.float64)
    if kind == "ones":
        return torch.ones(D, dtype=torch.float64)
    signs = torch.where(draws[0] < 0.5, -1.0, 1.0).double()
    return signs if kind == "signs" else signs * (0.7 + 0.6 * draws[1])


@dataclass(frozen=True, kw_only=True, eq=False)
@checked
class SparseCoding:
    r"""Sparse combinations of hidden features, labelled by a linear function of the code.

    .. math:: x = M z + \xi' + M \xi'', \qquad y = \operatorname{sign}(\langle w^*, z \rangle), \qquad
              \operatorname{sign}(0) = +1

    .. math:: \xi' \sim N(0, (\sigma_x^2 / d) I), \qquad
              \xi''_j \in \{0, \pm k^{-0.501}\} \text{ with } \mathbb{E} (\xi''_j)^2 = \sigma_{spike}^2 / D

    Symbols: M (M), w* (w_star), sigma_x (sigma_x, and sigma_spike for the spike part).

    Args:
        code: law of z; it fixes k and D.
        M: (d, D) dictionary.
        w_star: (D,) label vector.
        sigma_x: size of the Gaussian noise, about :math:`\|\xi'\|_2`.
        sigma_spike: size of the spike noise, 0 for none.

    Reading: the paper allows any spike noise with :math:`|\xi''_j| \le k^{-0.501}` and
    :math:`\mathbb{E} (\xi''_j)^2 = O(\sigma_x^2 / d)`. The one here has the largest allowed size, where it is
    hardest to tell from a small :math:`|z_j| = 1 / \sqrt k`.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> model = SparseCoding.draw(d=64, k=8, generator=generator, sigma_x=0.1)
        >>> samples = model.sample(10, generator=generator)
        >>> samples.x.shape, samples.z.shape
        (torch.Size([10, 64]), torch.Size([10, 64]))

    Ref: purification, Asm 2.1
    """

    code: SparseCode
    M: Tensor
    w_star: Tensor
    sigma_x: NonNegative = 0.0
    sigma_spike: NonNegative = 0.0

    def __post_init__(self) -> None:
        require_shape(self.M, "M", (None, self.code.D))
        require_shape(self.w_star, "w_star", (self.code.D,))
        if self.spike_rate > 1:
            raise ValueError(
                f"`sigma_spike` of `SparseCoding` must be at most "
                f"{math.sqrt(self.D) * self.spike_size:.3g} so that spikes have probability at most 1, "
                f"got {self.sigma_spike!r}."
            )

    @classmethod
    def draw(
        cls,
        *,
        d: int,
        k: int,
        generator: torch.Generator,
        D: int | None = None,
        dictionary: str = "unitary",
        w_star: str = "signs",
        sigma_x: float = 0.0,
        sigma_spike: float = 0.0,
        **code: Any,
    ) -> Self:
        """Draw the dictionary and w* once; further keywords go to `SparseCode`.

        Args:
            d: input dimension.
            k: sparsity.
            generator: source of the dictionary and of w*.
            D: number of features, d when left out.
            dictionary: a key of `DICTIONARIES`.
            w_star: a kind of `draw_w_star`.
            sigma_x: size of the Gaussian noise.
            sigma_spike: size of the spike noise.
            code: rates of `SparseCode`.
        """
        require_integer(d, "d", "SparseCoding", minimum=1)
        width = d if D is None else require_integer(D, "D", "SparseCoding", minimum=1)
        if require_integer(k, "k", "SparseCoding", minimum=1) > width:
            raise ValueError(f"`k` of `SparseCoding` must be at most `D` = {width}, got {k}.")
        return cls(
            code=SparseCode(k=k, D=width, **code),
            M=draw_dictionary(dictionary, d, width, generator=generator),
            w_star=draw_w_star(w_star, width, generator=generator),
            sigma_x=sigma_x,
            sigma_spike=sigma_spike,
        )

    @property
    def d(self) -> int:
        """Input dimension."""
        return int(self.M.shape[0])

    @property
    def D(self) -> int:
        """Number of features."""
        return self.code.D

    @property
    def k(self) -> int:
        """Sparsity."""
        return self.code.k

    @property
    def spike_size(self) -> float:
        r"""Largest allowed spike, :math:`k^{-0.501}`."""
        return float(self.k**-0.501)

    @property
    def spike_rate(self) -> float:
        r""":math:`P(\xi''_j \ne 0)`."""
        return (self.sigma_spike / self.spike_size) ** 2 / self.D

    @property
    def score_variance(self) -> float:
        r""":math:`\mathbb{E} \langle w^*, z \rangle^2`, of order one."""
        return self.code.second_moment * float(self.w_star.double().square().sum())

    @property
    def dense_direction(self) -> Tensor:
        r"""(d,) the dense mixture :math:`M w^*` of all features."""
        return self.M @ self.w_star

    @cached_property
    def _identity(self) -> bool:
        return is_identity(self.M)

    def label(self, z: Tensor) -> Tensor:
        r"""Return :math:`\operatorname{sign}(\langle w^*, z \rangle)` for codes (n, D), with sign(0) = +1."""
        score = z.double() @ self.w_star.double()
        return torch.where(score >= -_TIE, 1.0, -1.0).to(z.dtype)

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        """Draw labelled points; `z` of the result is the code without noise.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        require_integer(n, "n", "SparseCoding.sample", minimum=1)
        z = self.code.sample(n, generator=generator, dtype=dtype)
        features = z
        if self.sigma_spike > 0:
            uniform = torch.rand(n, self.D, generator=generator, dtype=torch.float64)
            # One uniform decides both: the lower half of the hits are negative spikes.
            spike = (uniform < self.spike_rate).to(dtype) - 2 * (uniform < self.spike_rate / 2).to(dtype)
            features = z + self.spike_size * spike
        x = features.clone() if self._identity else features @ self.M.to(dtype).T
        if self.sigma_x > 0:
            noise = torch.randn(n, self.d, generator=generator, dtype=dtype)
            x.add_(noise, alpha=self.sigma_x / math.sqrt(self.d))
        return Samples.clean(x, self.label(z), z=z)
