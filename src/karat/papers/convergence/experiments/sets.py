"""Data of the convergence experiments: points on the sphere, finite sets of allowed points in their caps."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.cap import Cap, require_compatible
from karat.core.checks import require_integer
from karat.training.surrogate import Sets


@dataclass(frozen=True)
class PseudoHuber:
    """sqrt(1 + (1 - margin)^2) - 1: convex, smooth, 1-Lipschitz, and 0 at f = y.

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
    """n points of the sphere with random labels (both present) whose caps of radius tau are compatible.

    Points are drawn one by one and kept if they leave room for both caps with a quarter to spare; when no
    room is found the radius is too large for the sphere, and the message of `require_compatible` says which
    points meet.
    """
    require_integer(n, "n", "draw_centres", minimum=2)
    y = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).double()[torch.randperm(n, generator=generator)]
    gap = 2 * math.sin(min(math.pi / 2, 1.25 * Cap(tau).angle))
    kept: list[Tensor] = []
    while len(kept) < n:
        for _ in range(attempts):
            x = torch.randn(d, generator=generator, dtype=torch.float64)
            x = x / torch.linalg.vector_norm(x)
            if all(float(torch.linalg.vector_norm(x - other)) > gap for other in kept):
                break
        kept.append(x)
    centres = torch.stack(kept)
    require_compatible(centres, y, tau)
    return centres, y


def draw_sets(n: int, d: int, tau: float, K: int, generator: torch.Generator) -> Sets:
    """Labelled centres with K allowed points each: the centre and K - 1 points of the rim of its cap.

    Reading: a finite set makes the strongest perturbation function an exact argmax; the rim is where a
        function that is nearly linear on the cap is extreme.
    """
    centres, y = draw_centres(n, d, tau, generator)
    repeated = centres.repeat_interleave(K, dim=0)
    push = torch.randn(repeated.shape, generator=generator, dtype=torch.float64)
    # An orthogonal push leaves the cap on its rim.
    push = push - (push * repeated).sum(dim=1, keepdim=True) * repeated
    rim = Cap(tau).extreme_point(push, repeated) + repeated
    x = rim.reshape(n, K, d).clone()
    x[:, 0] = centres
    return Sets(x, y)
