"""Exact search of a piecewise-linear margin along a ray: sort the kinks, walk the pieces."""

from itertools import pairwise

import torch
from torch import Tensor

from karat.attacks.line import LineProfile, profile_margin
from karat.attacks.ray import RaySearch
from karat.core.activations import Activation


def search_breakpoints(profile: LineProfile, end: Tensor) -> RaySearch:
    """First crossing and minimum of a piecewise-linear margin on [0, end], exact up to float64 rounding.

    Neuron s bends where start_s + t slope_s meets a kink; there the slope of the margin jumps by
    sign * weight_s |slope_s| (phi'(kink+) - phi'(kink-)), whichever way the kink is passed. With the bends of
    a sample sorted, running sums give the margin at every one of them; the piece of the first sign change is
    solved by interpolation and polished by one Newton step on the directly evaluated margin.

    Args:
        profile: margin along the ray, its activation piecewise linear.
        end: (n,) right ends, inf allowed (then `lowest` is the lowest bend).

    Returns:
        positions in float64.
    """
    end = end.double()
    bends, jumps, first_slope = _bends(profile, end)
    has_end = torch.isfinite(end)
    reached = (
        torch.where(torch.isfinite(bends), bends, 0.0).amax(dim=1)
        if bends.shape[1]
        else end.new_zeros(len(end))
    )
    last = torch.where(has_end, end, reached)
    bends, order = torch.minimum(bends, last.unsqueeze(1)).sort(dim=1)
    times = torch.cat([torch.zeros_like(last).unsqueeze(1), bends, last.unsqueeze(1)], dim=1)
    slopes = torch.cat([first_slope.unsqueeze(1), jumps.gather(1, order)], dim=1).cumsum(dim=1)
    origin = profile_margin(profile, torch.zeros_like(last)).unsqueeze(1)
    values = torch.cat([origin, origin + (slopes * times.diff(dim=1)).cumsum(dim=1)], dim=1)

    below = values <= 0
    found, index = below.any(dim=1), below.int().argmax(dim=1)
    # A ray without end may still cross on its last, unbounded piece.
    found_beyond = ~found & ~has_end & (slopes[:, -1] < 0)
    piece = torch.where(found, index - 1, slopes.shape[1] - 1).clamp_min(0).unsqueeze(1)
    left, slope, value = (table.gather(1, piece).squeeze(1) for table in (times, slopes, values))
    right = torch.where(found, times.gather(1, piece + 1).squeeze(1), torch.inf)
    safe = torch.where(slope < 0, slope, -torch.inf)
    root = torch.minimum(left - value / safe, right)
    polished = root - profile_margin(profile, root.where(torch.isfinite(root), left)) / safe
    root = torch.minimum(torch.maximum(polished, left), right)
    root = torch.where(found & (index == 0), 0.0, root)
    crossing = torch.where(found | found_beyond, root, torch.inf)
    return RaySearch(crossing, times.gather(1, values.argmin(dim=1, keepdim=True)).squeeze(1))


def _bends(profile: LineProfile, end: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Positions of the bends in (0, end] (inf elsewhere), the slope's jumps there, its value just after 0."""
    start, slope = profile.start.double(), profile.slope.double()
    pull = profile.sign.double().unsqueeze(1) * profile.weight.double()
    kinks = sorted(profile.activation.kinks)
    steepness = _steepness(profile.activation, kinks)
    piece = steepness[0] * torch.ones_like(start)
    positions, jumps = [], []
    for kink, before, after in zip(kinks, steepness, steepness[1:], strict=False):
        gap = kink - start
        # A neuron that starts on a kink is already on the piece it moves into.
        piece = torch.where((gap < 0) | ((gap == 0) & (slope > 0)), after, piece)
        ahead = gap * slope.sign() > 0
        position = torch.where(ahead, gap / torch.where(ahead, slope, 1.0), torch.inf)
        ahead &= position <= end.unsqueeze(1)
        positions.append(torch.where(ahead, position, torch.inf))
        jumps.append(torch.where(ahead, pull * slope.abs() * (after - before), 0.0))
    first_slope = (pull * slope * piece).sum(dim=1)
    if not positions:
        return start[:, :0], start[:, :0], first_slope
    return torch.cat(positions, dim=1), torch.cat(jumps, dim=1), first_slope


def _steepness(activation: Activation, kinks: list[float]) -> list[float]:
    """The activation's derivative on each of its linear pieces, left to right."""
    if not kinks:
        inner = [0.0]
    else:
        between = [(low + high) / 2 for low, high in pairwise(kinks)]
        inner = [kinks[0] - 1, *between, kinks[-1] + 1]
    values: list[float] = activation.derivative(torch.tensor(inner, dtype=torch.float64)).tolist()
    return values
