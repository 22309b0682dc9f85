"""What a set of allowed perturbations offers to attacks: `Ball` is one, `Cap` another."""

from typing import Protocol, Self

import torch
from torch import Tensor


class Region(Protocol):
    r"""A set of perturbations around every sample, :math:`\|\delta\|_p \le \tau` and perhaps more.

    What more there is restricts the perturbed inputs to a `domain`, a box or the unit sphere. Sets with one
    need the inputs `x` they are placed around; the others do not look at them.
    """

    @property
    def p(self) -> float:
        """The norm that measures perturbations."""
        ...

    @property
    def tau(self) -> float | Tensor:
        """The radius, a number or one per sample (n,)."""
        ...

    @property
    def box(self) -> tuple[float, float] | None:
        """Bounds (low, high) on the perturbed input, where the domain is a box."""
        ...

    @property
    def domain(self) -> str | None:
        """What the perturbed inputs must not leave, in words; None where they may lie anywhere."""
        ...

    def with_tau(self, tau: float | Tensor) -> Self:
        """The same set with another radius."""
        ...

    def radius(self, x: Tensor) -> Tensor:
        """The radius of every sample of x, shape (n,)."""
        ...

    def project(self, delta: Tensor, x: Tensor | None = None) -> Tensor:
        """The allowed perturbation nearest to delta, per sample."""
        ...

    def extreme_point(self, g: Tensor, x: Tensor | None = None) -> Tensor:
        """The allowed perturbation of largest inner product with g, per sample; zero where g is zero."""
        ...

    def sample(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """A random allowed perturbation for every sample of x."""
        ...

    def excess(self, delta: Tensor, x: Tensor | None = None) -> Tensor:
        """How far delta lies outside the set, per sample (n,); at most 0 inside."""
        ...

    def outside(self, moved: Tensor, rounding: float) -> Tensor:
        """How far perturbed inputs lie outside the domain, per sample (n,), beyond what rounding may do.

        Args:
            moved: (n, ...) the inputs x + delta.
            rounding: relative error that is forgiven.
        """
        ...
