"""Ranges of secant slopes: how steep a neuron's function can be from its centre to any reachable point."""

from itertools import pairwise

import torch
from torch import Tensor

from karat.certificates.profile import Profile, Scalar
from karat.certificates.rounding import FUNCTION

_BISECTIONS = 24


def secant_range(profile: Profile, z: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    r"""Smallest and largest :math:`(\psi(s) - \psi(z)) / (s - z)` over s in [low, high], from outside.

    Args:
        profile: psi.
        z: preactivations at the centre, of any shape.
        low: lower ends of the intervals, at most z.
        high: upper ends, at least z.

    Returns:
        lower and upper slopes; for low = high = z both are psi'(z) up to rounding.
    """
    near = 1e-9 * (1e-3 + z.abs())
    smallest, largest = _slopes_next_to(profile, z, near)
    mirrored = [(-right, -left, -curvature) for left, right, curvature in reversed(profile.pieces())]
    sides: list[tuple[Scalar, Scalar, list[tuple[float, float, int]], Tensor, Tensor]] = [
        (profile.value, profile.derivative, profile.pieces(), z, high),
        # psi(-.) turned upside down has the same secants, and what was left of z is right of -z.
        (lambda s: -profile.value(-s), lambda s: profile.derivative(-s), mirrored, -z, -low),
    ]
    for value, derivative, pieces, centre, end in sides:
        below, above = _to_the_right(value, derivative, pieces, centre, end, near, profile.size)
        smallest, largest = torch.minimum(smallest, below), torch.maximum(largest, above)
    # The global range is known without rounding.
    return smallest.clamp_min(profile.steepness[0]), largest.clamp_max(profile.steepness[1])


def _slopes_next_to(profile: Profile, z: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """Range of psi' on [z - near, z + near], which holds every secant slope to a point in there.

    psi' is monotone on every piece, so its values at the ends, at the knots and between them are the range.
    """
    knots = profile.knots
    probes = [*knots, *((a + b) / 2 for a, b in pairwise(knots))]
    points = [z - near, z + near, *(torch.minimum((z - near).clamp_min(t), z + near) for t in probes)]
    slopes = torch.stack([profile.derivative(s) for s in points])
    smallest, largest = slopes.amin(dim=0), slopes.amax(dim=0)
    pad = FUNCTION * torch.maximum(smallest.abs(), largest.abs())
    return smallest - pad, largest + pad


def _to_the_right(
    value: Scalar,
    derivative: Scalar,
    pieces: list[tuple[float, float, int]],
    z: Tensor,
    high: Tensor,
    near: Tensor,
    size: float,
) -> tuple[Tensor, Tensor]:
    """Range over [z + near, high].

    On the piece that holds z the slope is monotone in s. On a later one it is the quotient of a concave
    (convex) function and a positive linear one, so quasi-concave (quasi-convex): one extreme is at an end,
    the other is bounded by any tangent of psi, whose own secant slope is monotone and so extreme at an end.
    """
    smallest, largest = torch.full_like(z, torch.inf), torch.full_like(z, -torch.inf)
    base = value(z)

    def include(slope: Tensor, pad: Tensor, where: Tensor, sides: str = "both") -> None:
        nonlocal smallest, largest
        if sides != "above":
            smallest = torch.where(where, torch.minimum(smallest, slope - pad), smallest)
        if sides != "below":
            largest = torch.where(where, torch.maximum(largest, slope + pad), largest)

    for left, right, curvature in pieces:
        p, q = (z + near).clamp_min(left), high.clamp_max(right)
        exists = p <= q
        if not bool(exists.any()):
            continue
        p, q = torch.where(exists, p, z + 1), torch.where(exists, q, z + 1)
        later = exists & (z < left)
        for s, where in ((q, exists), (p, later)):
            height, gap = value(s), s - z
            pad = FUNCTION * (height.abs() + base.abs() + s.abs() + z.abs() + 4 * size) / gap
            include((height - base) / gap, 2 * pad, where)
        if curvature == 0 or not bool(later.any()):
            continue
        s = _touching_point(value, derivative, z, p, q, curvature)
        height, slope = value(s), derivative(s)
        for end in (p, q):
            gap = end - z
            pad = FUNCTION * (height.abs() + base.abs() + (2 + slope.abs()) * (end.abs() + s.abs() + z.abs()))
            pad = 2 * (pad + FUNCTION * 4 * size) / gap
            include(
                (height - base + slope * (end - s)) / gap, pad, later, "above" if curvature < 0 else "below"
            )
    return smallest, largest


def _touching_point(
    value: Scalar, derivative: Scalar, z: Tensor, p: Tensor, q: Tensor, curvature: int
) -> Tensor:
    """The point of [p, q] whose tangent passes through (z, psi(z)), by bisection; any point is sound."""
    base = value(z)
    for _ in range(_BISECTIONS):
        middle = (p + q) / 2
        onward = curvature * (derivative(middle) * (middle - z) - (value(middle) - base)) < 0
        p, q = torch.where(onward, middle, p), torch.where(onward, q, middle)
    return (p + q) / 2
