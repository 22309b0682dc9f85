"""The set of allowed perturbations: an l_p ball, optionally cut by a box on the input."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.core.box_ball import maximise_linear, project_to_box_ball, threshold_to_budget
from karat.core.checks import ShapeError, require_number, require_shape
from karat.core.norms import exponent, norm, per_sample, rows


@dataclass(frozen=True, eq=False)  # a tensor radius has no truth value for the generated comparison
class Ball:
    r"""All perturbations :math:`\|\delta\|_p \le \tau`; with a box x + delta also lies within its bounds.

    Args:
        p: 1, 2 or inf.
        tau: radius, a number or one per sample (n,).
        box: bounds (low, high) on the perturbed input; none by default, for no input range is assumed.

    Symbols: tau is R in lazy, delta in convergence, alpha in benign.

    >>> Ball(p=2, tau=1.0).project(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """

    p: float
    tau: float | Tensor
    box: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", exponent(self.p))
        if isinstance(self.tau, Tensor):
            if self.tau.dim() > 1:
                raise ShapeError(f"`tau` of `Ball` must have shape () or (n,), got {tuple(self.tau.shape)}.")
            wrong = self.tau[~(torch.isfinite(self.tau) & (self.tau >= 0))]
            if wrong.numel():
                raise ValueError(f"`tau` of `Ball` must hold finite numbers >= 0, got {wrong[0].item():g}.")
        else:
            object.__setattr__(self, "tau", require_number(self.tau, "tau", "Ball", minimum=0))
        if self.box is not None:
            if not isinstance(self.box, tuple | list) or len(self.box) != 2:
                raise TypeError(f"`box` of `Ball` must be a pair (low, high), got {self.box!r}.")
            low, high = (require_number(side, "box", "Ball") for side in self.box)
            if low >= high:
                raise ValueError(f"`box` of `Ball` must have low < high, got ({low:g}, {high:g}).")
            object.__setattr__(self, "box", (low, high))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ball):
            return NotImplemented
        mine, theirs = (torch.as_tensor(ball.tau, dtype=torch.float64) for ball in (self, other))
        return self.p == other.p and self.box == other.box and torch.equal(mine, theirs)

    __hash__ = None  # type: ignore[assignment]

    def with_tau(self, tau: float | Tensor) -> "Ball":
        """The same set with another radius."""
        return replace(self, tau=tau)

    def radius(self, x: Tensor) -> Tensor:
        """The radius of every sample of x, shape (n,); one that x's type cannot hold is refused."""
        tau = torch.as_tensor(self.tau, dtype=x.dtype, device=x.device)
        largest = self.tau if isinstance(self.tau, float) else 0.0
        if isinstance(self.tau, Tensor) and self.tau.dtype != x.dtype and self.tau.numel():
            largest = float(self.tau.max())
        if largest > torch.finfo(x.dtype).max:
            raise ValueError(
                f"`tau` of `Ball` must fit into {x.dtype}, the type of the inputs, got {largest:g}."
            )
        if tau.dim() == 1 and len(tau) != len(x):
            raise ShapeError(f"`tau` of `Ball` holds {len(tau)} radii for {len(x)} samples.")
        return tau.expand(len(x))

    @property
    def domain(self) -> str | None:
        """The box in words."""
        return None if self.box is None else f"the box ({self.box[0]:g}, {self.box[1]:g})"

    def outside(self, moved: Tensor, rounding: float) -> Tensor:
        """How far perturbed inputs lie outside the box, per sample (n,), beyond what rounding may do.

        Args:
            moved: (n, ...) the inputs x + delta.
            rounding: error that is forgiven, as a share of the largest number in the box.
        """
        if self.box is None:
            return moved.new_zeros(len(moved))
        low, high = self.box
        beyond = torch.maximum(low - moved, moved - high).flatten(1).amax(dim=1)
        return beyond - rounding * max(abs(low), abs(high))

    def _sides(self, delta: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        assert self.box is not None
        if x is None:
            raise ValueError("a `Ball` with a box needs the inputs `x` it is placed around.")
        require_shape(x, "x", tuple(delta.shape))
        low, high = rows(self.box[0] - x), rows(self.box[1] - x)
        if bool((low > 0).any()) or bool((high < 0).any()):
            raise ValueError(f"`x` leaves the box {self.box} of `Ball`.")
        return low, high

    def project(self, delta: Tensor, x: Tensor | None = None) -> Tensor:
        """The point of the set nearest to delta in Euclidean distance, per sample."""
        if torch.finfo(delta.dtype).bits < 32:  # lengths have too few digits there
            return self.project(delta.float(), None if x is None else x.float()).to(delta.dtype)
        tau = self.radius(delta)
        if self.box is not None:
            flat = project_to_box_ball(rows(delta), tau, self.p, *self._sides(delta, x))
            return flat.reshape(delta.shape)
        if self.p == 2:
            length = norm(delta, 2).clamp_min(torch.finfo(delta.dtype).tiny)
            return delta * per_sample((tau / length).clamp_max(1), delta)
        if self.p == math.inf:
            if isinstance(self.tau, float):
                return delta.clamp(-self.tau, self.tau)
            bound = per_sample(tau, delta)
            return delta.clamp(-bound, bound)
        size = rows(delta.abs())
        return delta.sign() * threshold_to_budget(size, size, tau).reshape(delta.shape)

    def extreme_point(self, g: Tensor, x: Tensor | None = None) -> Tensor:
        r"""The point of largest :math:`\langle g, \delta\rangle` in the set, per sample; zero where g is.

        Reading: for p = 1 the first coordinate of largest |g| takes the whole radius.
        """
        if torch.finfo(g.dtype).bits < 32:
            return self.extreme_point(g.float(), None if x is None else x.float()).to(g.dtype)
        tau = self.radius(g)
        if self.box is not None:
            flat = maximise_linear(rows(g), tau, self.p, *self._sides(g, x))
            return flat.reshape(g.shape)
        if self.p == 2:
            length = norm(g, 2)
            if bool((length > torch.finfo(g.dtype).tiny ** 0.5).all()):
                return g * per_sample(tau / length, g)
            # Dividing by the largest entry first keeps tiny gradients from underflowing when squared.
            top = norm(g, math.inf)
            unit = g / per_sample(torch.where(top > 0, top, 1.0), g)
            length = norm(unit, 2)
            return unit * per_sample(tau / torch.where(length > 0, length, 1.0), g)
        if self.p == math.inf:
            return g.sign().mul_(self.tau if isinstance(self.tau, float) else per_sample(tau, g))
        flat = rows(g)
        index = flat.abs().argmax(dim=1, keepdim=True)
        point = torch.zeros_like(flat)
        point.scatter_(1, index, flat.gather(1, index).sign() * tau.unsqueeze(1))
        return point.reshape(g.shape)

    def sample(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """A random perturbation for every sample of x: uniform in the ball, then projected into the box."""
        n, d = rows(x).shape
        tau = self.radius(x).unsqueeze(1)

        def uniform(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=generator, dtype=x.dtype, device=x.device)

        if self.p == math.inf:
            delta = (2 * uniform(n, d) - 1) * tau
        elif self.p == 2:
            direction = torch.randn(n, d, generator=generator, dtype=x.dtype, device=x.device)
            direction = direction / torch.linalg.vector_norm(direction, dim=1, keepdim=True)
            delta = direction * tau * uniform(n, 1) ** (1 / d)
        else:
            # Dirichlet weights on d + 1 cells, one dropped, are uniform under the simplex.
            cells = -torch.log1p(-uniform(n, d + 1))
            signs = (uniform(n, d) < 0.5).to(x.dtype) * 2 - 1
            delta = signs * cells[:, :d] / cells.sum(dim=1, keepdim=True) * tau
        delta = delta.reshape(x.shape)
        return delta if self.box is None else self.project(delta, x)

    def excess(self, delta: Tensor, x: Tensor | None = None) -> Tensor:
        """How far delta lies outside the set, per sample (n,); at most 0 inside."""
        over = norm(delta, self.p) - self.radius(delta)
        if self.box is not None:
            low, high = self._sides(delta, x)
            flat = rows(delta)
            beyond = torch.maximum(low - flat, flat - high).amax(dim=1)
            over = torch.maximum(over, beyond)
        return over
