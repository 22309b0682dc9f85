"""The perturbations that keep a unit vector on the unit sphere: a spherical cap around every sample."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.special import betainc, betaincinv
from torch import Tensor

from karat.core.checks import require_labels, require_number, require_shape

_UNIT = 1e-4
"""How far from 1 a length may be for a point to count as lying on the sphere (single precision allowed)."""


@dataclass(frozen=True)
class Cap:
    r"""All :math:`\delta` with :math:`\|x + \delta\|_2 = 1` and :math:`\|\delta\|_2 \le \tau`, around unit x.

    In angles it is the set :math:`\{u : \angle(u, x) \le 2 \arcsin(\tau/2)\}`. It is no ball: every operation
    needs x, and projections end on the sphere.

    Args:
        tau: chordal radius in [0, 2]; 2 is the whole sphere.

    >>> Cap(2.5)
    Traceback (most recent call last):
    ...
    ValueError: `tau` of `Cap` must be a finite number >= 0 and <= 2, got 2.5.

    Ref: convergence, Def 3.1
    """

    tau: float
    p: ClassVar[float] = 2.0
    box: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", require_number(self.tau, "tau", "Cap", minimum=0, maximum=2))

    @property
    def angle(self) -> float:
        """Largest angle between x and x + delta."""
        return 2 * math.asin(self.tau / 2)

    @property
    def domain(self) -> str:
        """The sphere in words."""
        return "the unit sphere"

    def outside(self, moved: Tensor, rounding: float) -> Tensor:
        """How far perturbed inputs lie off the unit sphere, per sample (n,), beyond what rounding may do.

        Args:
            moved: (n, d) the inputs x + delta.
            rounding: error that is forgiven, on top of how far x itself may be off.
        """
        return (torch.linalg.vector_norm(moved, dim=1) - 1).abs() - _UNIT - rounding

    def with_tau(self, tau: float | Tensor) -> "Cap":
        """The same set with another radius."""
        return Cap(require_number(tau, "tau", "Cap"))

    def radius(self, x: Tensor) -> Tensor:
        """The chordal radius of every sample of x, shape (n,)."""
        return x.new_full((len(x),), self.tau)

    def project(self, delta: Tensor, x: Tensor | None = None) -> Tensor:
        """The allowed perturbation nearest to delta: x + delta goes to the sphere, then into the cap."""
        x = _centres(x)
        return self._towards(x + delta, x) - x

    def extreme_point(self, g: Tensor, x: Tensor | None = None) -> Tensor:
        """argmax of <g, delta> over the cap, per sample; zero where g is zero."""
        x = _centres(x)
        still = (g == 0).all(dim=1, keepdim=True)
        return torch.where(still, 0.0, self._towards(torch.where(still, x, g), x) - x)

    def _towards(self, p: Tensor, x: Tensor) -> Tensor:
        """The point of the cap that maximises <p, u>: p/|p| if it lies inside, else on the rim towards p."""
        along = (p * x).sum(dim=1, keepdim=True)
        across = p - along * x
        width = torch.linalg.vector_norm(across, dim=1, keepdim=True)
        angle = torch.atan2(width, along).clamp_max(self.angle)
        side = across / torch.where(width > 0, width, 1.0)
        u = torch.cos(angle) * x + torch.sin(angle) * side
        return u / torch.linalg.vector_norm(u, dim=1, keepdim=True)

    def sample(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Perturbations such that x + delta is uniform on the cap."""
        x = _centres(x)
        n, d = x.shape
        direction = torch.randn(n, d, generator=generator, dtype=x.dtype)
        direction -= (direction * x).sum(dim=1, keepdim=True) * x
        direction /= torch.linalg.vector_norm(direction, dim=1, keepdim=True)
        # The angle has density sin^(d-2); its square sine follows a Beta law on each hemisphere.
        shape = ((d - 1) / 2, 0.5)
        half = betainc(*shape, math.sin(self.angle) ** 2) / 2
        mass = half if self.angle <= math.pi / 2 else 1 - half
        u = torch.rand(n, generator=generator, dtype=torch.float64) * mass
        sine = torch.from_numpy(betaincinv(*shape, 2 * torch.minimum(u, 1 - u).numpy())).sqrt()
        angle = torch.where(u <= 0.5, torch.asin(sine), math.pi - torch.asin(sine)).to(x.dtype).unsqueeze(1)
        return torch.cos(angle) * x + torch.sin(angle) * direction - x

    def excess(self, delta: Tensor, x: Tensor | None = None) -> Tensor:
        """How far delta lies outside, per sample; with x the distance from the sphere counts, too."""
        over = torch.linalg.vector_norm(delta, dim=1) - self.tau
        if x is None:
            return over
        return torch.maximum(over, self.outside(x + delta, 0.0))


def require_compatible(x: Tensor, y: Tensor, tau: float) -> None:
    r"""Refuse caps of points with different labels that meet, naming the two offending points.

    Caps of angle :math:`2 \arcsin(\tau/2)` meet when the angle between their centres is at most twice that.

    Args:
        x: (n, d) unit vectors.
        y: (n,) labels +-1.
        tau: chordal radius of the caps.

    Ref: convergence, Def 3.1
    """
    limit = 2 * Cap(tau).angle
    require_labels(y, len(x))
    centres = _centres(x).double()
    angles = 2 * torch.asin((torch.cdist(centres, centres) / 2).clamp_max(1))
    angles = torch.where(y.unsqueeze(0) != y.unsqueeze(1), angles, torch.inf)
    if bool((angles <= limit).any()):
        i, j = divmod(int(angles.argmin()), len(x))
        raise ValueError(
            f"the perturbation set of radius {tau:g} is incompatible with the data: points {i} and {j} have "
            f"different labels and are {2 * math.sin(float(angles[i, j]) / 2):.4g} apart, so their caps meet."
        )


def _centres(x: Tensor | None) -> Tensor:
    if x is None:
        raise ValueError("a `Cap` needs the inputs `x` it is placed around.")
    require_shape(x, "x", (None, None))
    length = torch.linalg.vector_norm(x, dim=1)
    if bool(((length - 1).abs() > _UNIT).any()):
        worst = float(length[(length - 1).abs().argmax()])
        raise ValueError(f"`x` of `Cap` must have unit length, got {worst:.4g}.")
    return x
