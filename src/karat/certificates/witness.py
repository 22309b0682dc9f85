"""Perturbations that lie inside their ball and box in exact arithmetic, not only up to rounding."""

import torch
from torch import Tensor

from karat.certificates.rounding import UNIT
from karat.core.ball import Ball


def inside(delta: Tensor, x: Tensor, ball: Ball) -> Tensor:
    """Project, then take back what rounding may have put outside.

    Args:
        delta: (n, ...) finite perturbations, float64.
        x: (n, ...) samples, inside the box if there is one.
        ball: with radii that fit them.

    Returns:
        (n, ...) with |delta|_p <= tau and low <= x + delta <= high, both for real numbers.

    >>> x = torch.tensor([[0.2]], dtype=torch.float64)
    >>> delta = inside(torch.ones_like(x), x, Ball(torch.inf, 1.0, box=(0.0, 0.8)))
    >>> float(delta), 0.8 - 0.2  # the float nearest to the gap would lead beyond the wall
    (0.6, 0.6000000000000001)
    """
    projected = ball.project(delta, x if ball.box is not None else None)
    if ball.p != torch.inf:
        # Scaling and summing d numbers is wrong by at most so many units; 0 stays inside box and ball.
        d = max(1, delta[:1].numel())
        projected = projected * (1 - 8 * (2 + d**0.5) * UNIT)
    if ball.box is None:
        return projected
    low, high = (torch.full_like(x, wall) for wall in ball.box)
    return torch.minimum(torch.maximum(projected, -_gap(-low, -x)), _gap(high, x))


def _gap(wall: Tensor, x: Tensor) -> Tensor:
    """The largest float that is surely at most wall - x.

    The rounding error of a difference is itself a float and can be computed: wall - x = gap + error.
    """
    gap = wall - x
    back = gap - wall
    error = (wall - (gap - back)) - (x + back)
    return torch.where(error < 0, torch.nextafter(gap, torch.full_like(gap, -torch.inf)), gap)
