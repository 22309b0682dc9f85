"""Exact geometry of an l_p ball cut by a box, coordinate-wise bounds low <= delta <= high with 0 inside.

Both problems keep the sign of every coordinate, so they are solved on magnitudes: `size` is what a coordinate
asks for and `room` is how far it may go before it meets the box.
"""

import math

import torch
from torch import Tensor

from karat.core.norms import norm


def project_to_box_ball(delta: Tensor, tau: Tensor, p: float, low: Tensor, high: Tensor) -> Tensor:
    """Euclidean projection of each row of delta to ball and box.

    The Lagrangian of the norm constraint separates over coordinates: magnitudes become min(s size, room)
    for p = 2 and clip(size - threshold, 0, room) for p = 1, at the s or threshold that meets the budget.

    Args:
        delta: (n, d) points.
        tau: (n,) radii.
        p: 1, 2 or inf.
        low: (n, d) lower bounds, at most 0.
        high: (n, d) upper bounds, at least 0.
    """
    if p == math.inf:
        bound = tau.unsqueeze(1)
        return delta.clamp(-bound, bound).clamp(low, high)
    size = delta.abs()
    room = torch.where(delta > 0, high, -low)
    if p == 1:
        return delta.sign() * threshold_to_budget(size, room, tau)
    clipped = torch.minimum(size, room)
    inside = (norm(clipped, 2) <= tau).unsqueeze(1)
    return delta.sign() * torch.where(inside, clipped, scale_to_budget(size, room, tau))


def maximise_linear(g: Tensor, tau: Tensor, p: float, low: Tensor, high: Tensor) -> Tensor:
    r"""The v of largest :math:`\langle g, v\rangle` in ball and box, row by row; a zero of g stays at zero.

    p = inf: every coordinate goes to its own end. p = 2: |v| = min(s |g|, room) with the largest s allowed.
    p = 1: the budget goes to the coordinates of largest |g| first, each up to its room.

    Args:
        g: (n, d) linear forms.
        tau: (n,) radii.
        p: 1, 2 or inf.
        low: (n, d) lower bounds, at most 0.
        high: (n, d) upper bounds, at least 0.
    """
    bound = tau.unsqueeze(1)
    room = torch.where(g > 0, high, -low)
    if p == math.inf:
        return g.sign() * torch.minimum(room, bound)
    if p == 2:
        return g.sign() * scale_to_budget(g.abs(), room, tau)
    order = g.abs().argsort(dim=1, descending=True, stable=True)
    ordered = room.gather(1, order)
    # The sum before each coordinate; subtracting a wide room from a running sum would lose the narrow ones.
    spent = torch.nn.functional.pad(ordered.cumsum(dim=1)[:, :-1], (1, 0))
    taken = torch.minimum(ordered, (bound - spent).clamp_min(0))
    return g.sign() * torch.zeros_like(g).scatter_(1, order, taken)


def scale_to_budget(size: Tensor, room: Tensor, tau: Tensor) -> Tensor:
    """min(s size, room) at the largest s for which every row's l2 norm is at most tau.

    Coordinates over their room are fixed there and s is solved again for the free ones. A fixed coordinate
    gives budget back, so s only grows and the fixed ones stay fixed: at most d rounds, a few in practice.

    Args:
        size: (n, d) what the coordinates ask for, at least 0.
        room: (n, d) how far they may go.
        tau: (n,) radii.
    """
    free = size > 0
    fixed = torch.where(free, room, 0)
    while True:
        spent = norm(torch.where(free, 0, fixed), 2)
        left = (tau - spent).clamp_min(0).sqrt() * (tau + spent).sqrt()
        asked = torch.where(free, size, 0)
        # Dividing by the largest entry first keeps tiny sizes from underflowing when squared.
        top = asked.amax(dim=1, keepdim=True)
        asked = asked / torch.where(top > 0, top, 1)
        length = norm(asked, 2)
        point = asked * (left / torch.where(length > 0, length, 1)).unsqueeze(1)
        over = free & (point > room)
        if not bool(over.any()):
            return torch.where(free, point, fixed)
        free = free & ~over


def threshold_to_budget(size: Tensor, room: Tensor, tau: Tensor) -> Tensor:
    """clip(size - threshold, 0, room) at the smallest threshold >= 0 for which every row sums to at most tau.

    As the threshold falls a coordinate starts to grow at `size` and stops at `size - room`. Between these
    sorted corners the sum is linear, so walking down them encloses the threshold and a division finds it.

    Args:
        size: (n, d) what the coordinates ask for, at least 0.
        room: (n, d) how far they may go.
        tau: (n,) budgets.
    """
    bound = tau.unsqueeze(1)
    corners, order = torch.cat([size, (size - room).clamp_min(0)], dim=1).sort(
        dim=1, descending=True, stable=True
    )
    starts = (order < size.shape[1]).to(size.dtype)
    growing = (2 * starts - 1).cumsum(dim=1)
    gaps = corners - torch.nn.functional.pad(corners[:, 1:], (0, 1))
    sums = (growing * gaps).cumsum(dim=1)  # the row's sum when the threshold has come down to the next corner
    index = (sums <= bound).sum(dim=1, keepdim=True).clamp_max(sums.shape[1] - 1)
    before = torch.where(index > 0, sums.gather(1, (index - 1).clamp_min(0)), 0)
    climb = (bound - before) / growing.gather(1, index).clamp_min(1)
    # size - corner is exact where it matters; size - threshold would lose all digits of a small tau.
    point = torch.minimum((size - corners.gather(1, index) + climb).clamp_min(0), room)
    clipped = torch.minimum(size, room)
    point = torch.where(clipped.sum(dim=1, keepdim=True) <= bound, clipped, point)
    # Rooms below the rounding of size were invisible above; the last factor pays for them.
    total = point.sum(dim=1, keepdim=True).clamp_min(torch.finfo(size.dtype).tiny)
    return point * (bound / total).clamp_max(1)
