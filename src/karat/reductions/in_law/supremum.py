"""The supremum of the margin over a ball of rows, at points of the plane: one pass over the neurons."""

import math
from collections.abc import Sequence

import numpy as np

from karat.core.compiled import Array, compiled
from karat.reductions.in_law.start import PlaneStart

BLOCK = 4096
"""Neurons that stay in the cache while all points are visited."""


def largest_margins(
    start: PlaneStart, y: int, tangents: Sequence[float], weight_radii: Sequence[float]
) -> list[float]:
    r"""Return the largest margin that any net of a ball of rows has at points against the start's gradient.

    With p the unit vector along :math:`x - y T g` and :math:`u_s = \langle w_s, p \rangle`, the supremum over
    all nets with :math:`\|w_s - w_{s,0}\| \le V` separates over neurons:

    .. math:: \sup_W y f(p; W) = \frac{1}{\sqrt m} \sum_s y a_s \, \mathrm{relu}(u_s + y a_s V).

    Nets are homogeneous, so that its sign is the same at every point along p; the nearest one lies at a
    distance :math:`T/\sqrt{1 + T^2}` of x.

    Args:
        start: in the plane.
        y: label, 1 or -1.
        tangents: (k,) T of each point.
        weight_radii: (k,) V at each point.

    Returns:
        k suprema.
    """
    T, V = np.asarray(tangents, dtype=np.float64), np.asarray(weight_radii, dtype=np.float64)
    along, across = 1 / np.sqrt(1 + T * T), -y * T / np.sqrt(1 + T * T)
    kind = start.z.numpy().dtype
    along, across, V = (numbers.astype(kind) for numbers in (along, across, V))
    z, h, split = start.z.numpy(), start.h.numpy(), start.positive
    positive = _sums(z[:split], h[:split], along, across, y * V)
    negative = _sums(z[split:], h[split:], along, across, -y * V)
    sums = y * (positive - negative)
    return [float(total) / math.sqrt(start.m) for total in sums]


@compiled(reorder=True)
def _sums(z: Array, h: Array, along: Array, across: Array, shift: Array) -> Array:
    """Sums of relu(along z + across h + shift), a point each; blocks are added in double precision."""
    totals = np.zeros(len(shift))
    zero = shift[0] * 0
    for begin in range(0, len(z), BLOCK):
        end = min(begin + BLOCK, len(z))
        for k in range(len(shift)):
            total = zero
            for s in range(begin, end):
                total += max(along[k] * z[s] + across[k] * h[s] + shift[k], zero)
            totals[k] += total
    return totals
