"""Data of the convergence experiments: points on the sphere, finite sets of allowed points in their caps."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor

from karat.core.cap import Cap, require_compatible
from karat.core.checks import require_integer
from karat.training.surrogate import Sets

CapRadius = Annotated[float, Ge(0), Le(2)]
"""The radius of a cap of the unit sphere, as a chord: 2 is the whole sphere."""


@dataclass(frozen=True)
class PseudoHuber:
    r"""A loss as the theorems ask for it: convex, smooth, 1-Lipschitz, and 0 where the net equals the label.

    .. math:: \ell(u) = \sqrt{1 + (1 - u)^2} - 1, \qquad u = y f(x)

    Ref: convergence, Asm 3.1
    """

    def __call__(self, margin: Tensor) -> Tensor:
        """Loss of every margin."""
        return torch.sqrt(1 + (1 - margin).square()) - 1

    def derivative(self, margin: Tensor) -> Tensor:
        """Derivative in the margin."""
        return -(1 - margin) / torch.sqrt(1 + (1 - margin).square())


def draw_centres(
    n: int, d: int, tau: float, generator: torch.Generator, *, attempts: int = 400
) -> tuple[Tensor, Tensor]:
    """Draw points of the sphere with random labels, both present, whose caps of radius tau are compatible.

    Points are drawn one by one and taken if they leave room for both caps with a quarter to spare; when no
    room is found the radius is too large for the sphere, and the message of `require_compatible` says which
    points meet.

    Args:
        n: how many points, at least 2.
        d: dimension.
        tau: radius of the caps, as a chord.
        generator: of the points and labels.
        attempts: draws of one point before it is taken although it is too near to another.

    Returns:
        (n, d) unit vectors and (n,) labels.

    Ref: convergence, Def 3.1
    """
    require_integer(n, "n", "draw_centres", minimum=2)
    y = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).double()[torch.randperm(n, generator=generator)]
    # Caps of angle t are apart if their centres are, by more than 2 t; 1.25 is the quarter to spare.
    gap = 2 * math.sin(min(math.pi / 2, 1.25 * Cap(tau).angle))
    points: list[Tensor] = []
    while len(points) < n:
        for _ in range(attempts):
            x = torch.randn(d, generator=generator, dtype=torch.float64)
            x = x / torch.linalg.vector_norm(x)
            if all(float(torch.linalg.vector_norm(x - other)) > gap for other in points):
                break
        points.append(x)
    centres = torch.stack(points)
    require_compatible(centres, y, tau)
    return centres, y


def draw_sets(n: int, d: int, tau: float, K: int, generator: torch.Generator) -> Sets:
    """Draw labelled centres with K allowed points each: the centre and K - 1 points of the rim of its cap.

    Args:
        n: centres, at least 2.
        d: dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per centre, itself counted.
        generator: of centres, labels and rim points.

    Reading: a finite set makes the strongest perturbation function an exact argmax; the rim is where a
        function that is nearly linear on the cap is extreme.

    Ref: convergence, Def 3.4
    """
    centres, y = draw_centres(n, d, tau, generator)
    repeated = centres.repeat_interleave(K, dim=0)
    push = torch.randn(repeated.shape, generator=generator, dtype=torch.float64)
    # A push at right angles to its centre ends on the rim of the cap.
    push = push - (push * repeated).sum(dim=1, keepdim=True) * repeated
    rim = Cap(tau).extreme_point(push, repeated) + repeated
    x = rim.reshape(n, K, d).clone()
    x[:, 0] = centres
    return Sets(x, y)
