"""Exact search of a piecewise-linear margin along a ray: sort the kinks, walk the pieces."""

from itertools import pairwise

import torch
from torch import Tensor

from karat.attacks.ray.ray import RaySearch
from karat.core.activations import Activation
from karat.core.line import Line


def search_breakpoints(line: Line, end: Tensor) -> RaySearch:
    r"""First crossing and minimum of a piecewise-linear margin on [0, end], exact up to float64 rounding.

    Neuron s bends where :math:`\text{start}_s + t\,\text{speed}_s` meets a kink. There the rate of the
    margin, its derivative in t, jumps by

    .. math:: y\,\text{weight}_s\,|\text{speed}_s|\,(\phi'(\text{kink}+) - \phi'(\text{kink}-)),

    whichever way the kink is passed. With the bends of a sample sorted, running sums give the margin at every
    one of them; the piece of the first sign change is solved by interpolation and polished by one Newton step
    on the directly evaluated margin.

    Args:
        line: margin along the ray, its activation piecewise linear.
        end: (n,) right ends, inf allowed (then `lowest` is the lowest bend).

    Returns:
        positions in float64.
    """
    end = end.double()
    bends, jumps, first_rate = _bends(line, end)
    has_end = torch.isfinite(end)
    reached = (
        torch.where(torch.isfinite(bends), bends, 0.0).amax(dim=1)
        if bends.shape[1]
        else end.new_zeros(len(end))
    )
    last = torch.where(has_end, end, reached)
    # Bends that are not met stand at infinity: moved to the end, they close pieces of length zero.
    bends, order = torch.minimum(bends, last.unsqueeze(1)).sort(dim=1)
    times = torch.cat([torch.zeros_like(last).unsqueeze(1), bends, last.unsqueeze(1)], dim=1)
    rates = torch.cat([first_rate.unsqueeze(1), jumps.gather(1, order)], dim=1).cumsum(dim=1)
    origin = line.margin(torch.zeros_like(last)).unsqueeze(1)
    margins = torch.cat([origin, origin + (rates * times.diff(dim=1)).cumsum(dim=1)], dim=1)

    below = margins <= 0
    crossed, index = below.any(dim=1), below.int().argmax(dim=1)
    # A ray without end may still cross on its last, unbounded piece.
    crossed_beyond = ~crossed & ~has_end & (rates[:, -1] < 0)
    piece = torch.where(crossed, index - 1, rates.shape[1] - 1).clamp_min(0).unsqueeze(1)
    left, rate, margin = (table.gather(1, piece).squeeze(1) for table in (times, rates, margins))
    right = torch.where(crossed, times.gather(1, piece + 1).squeeze(1), torch.inf)
    # A piece that does not fall has no root of its own; dividing by -inf leaves its left end.
    falling = torch.where(rate < 0, rate, -torch.inf)
    root = torch.minimum(left - margin / falling, right)
    # The running sums carry the rounding of all bends before; one evaluation of the margin itself does not.
    polished = root - line.margin(root.where(torch.isfinite(root), left)) / falling
    root = torch.minimum(torch.maximum(polished, left), right)
    root = torch.where(crossed & (index == 0), 0.0, root)
    crossing = torch.where(crossed | crossed_beyond, root, torch.inf)
    return RaySearch(crossing, times.gather(1, margins.argmin(dim=1, keepdim=True)).squeeze(1))


def _bends(line: Line, end: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Positions of the bends in (0, end] (inf elsewhere), the rate's jumps there, the rate just after 0."""
    start, speed = line.start.double(), line.speed.double()
    pull = line.sign.double().unsqueeze(1) * line.weight.double()
    kinks = sorted(line.activation.kinks)
    steepness = _steepness(line.activation, kinks)
    piece = steepness[0] * torch.ones_like(start)
    positions, jumps = [], []
    for kink, before, after in zip(kinks, steepness, steepness[1:], strict=False):
        gap = kink - start
        # A neuron that starts on a kink is already on the piece it moves into.
        piece = torch.where((gap < 0) | ((gap == 0) & (speed > 0)), after, piece)
        ahead = gap * speed.sign() > 0
        position = torch.where(ahead, gap / torch.where(ahead, speed, 1.0), torch.inf)
        ahead &= position <= end.unsqueeze(1)
        positions.append(torch.where(ahead, position, torch.inf))
        jumps.append(torch.where(ahead, pull * speed.abs() * (after - before), 0.0))
    first_rate = (pull * speed * piece).sum(dim=1)
    if not positions:
        return start[:, :0], start[:, :0], first_rate
    return torch.cat(positions, dim=1), torch.cat(jumps, dim=1), first_rate


def _steepness(activation: Activation, kinks: list[float]) -> list[float]:
    """The activation's derivative on each of its linear pieces, left to right."""
    if not kinks:
        inner = [0.0]
    else:
        between = [(low + high) / 2 for low, high in pairwise(kinks)]
        inner = [kinks[0] - 1, *between, kinks[-1] + 1]
    values: list[float] = activation.derivative(torch.tensor(inner, dtype=torch.float64)).tolist()
    return values
