"""Search along rays by the best route the classifier allows, and the step just past what it finds."""

import torch
from torch import Tensor

from karat.attacks.ray.breakpoints import search_breakpoints
from karat.attacks.ray.ray import Ray, RaySearch
from karat.attacks.ray.scan import search_scan

# Entries of one (samples, neurons) table: keeps the sorted tables of wide nets near 200 MB.
_TABLE = 2**21
_DOUBLINGS = 60
_EASY = 12


def search_ray(ray: Ray, margin: Tensor, gradient: Tensor, end: Tensor, *, points: int) -> RaySearch:
    """First crossing and minimum on [0, end].

    Three routes: sorted kinks if the classifier offers the line of a piecewise-linear net; a scan of its line
    if the net is smooth (m operations per point instead of m d); a scan of its margin otherwise.

    Args:
        ray: one ray per sample.
        margin: (n,) margins at the origin of the rays.
        gradient: (n, ...) gradients there.
        end: (n,) float64.
        points: resolution of a scan.
    """
    descent = -(gradient * ray.direction).flatten(1).sum(dim=1).double()
    guess = torch.where(descent > 0, margin.double() / descent, torch.inf)
    tolerance = 8 * torch.finfo(ray.x.dtype).eps
    first = ray.line(slice(0, 1))
    if first is None:
        return search_scan(ray.margin, margin.double(), guess, end, points=points, tolerance=tolerance)
    width = first.start.shape[1] * max(1, len(first.activation.kinks))
    searches = []
    for block in torch.arange(len(end), device=end.device).split(max(1, _TABLE // max(1, width))):
        line = ray.line(block)
        assert line is not None
        if line.activation.piecewise_linear:
            searches.append(search_breakpoints(line, end[block]))
            continue
        origin = line.margin(torch.zeros_like(end[block]))
        searches.append(
            search_scan(line.margin, origin, guess[block], end[block], points=points, tolerance=tolerance)
        )
    return RaySearch(
        torch.cat([search.crossing for search in searches]), torch.cat([search.lowest for search in searches])
    )


def past_crossing(ray: Ray, search: RaySearch, origin: Tensor, end: Tensor) -> Tensor:
    """Positions (n,) where the classifier itself sees a margin <= 0, as little past the crossing as it takes.

    Rounding may leave the margin at a computed crossing positive. The step then grows by 1, 2, 4, ...
    rounding units until the margin, evaluated anew, is below zero by 16 rounding units of the clean margin,
    so that the verdict survives another order of summation; after 12 doublings any margin <= 0 will do. Rays
    without a crossing before `end` get their lowest point.

    Args:
        ray: one ray per sample.
        search: what was found on these rays.
        origin: (n,) clean margins.
        end: (n,) float64 ends.
    """
    crossed = torch.isfinite(search.crossing)
    best = torch.where(crossed, search.crossing, search.lowest)
    if not bool(crossed.any()):
        return best
    # Every evaluation takes the whole batch: a part of it may be summed in another order.
    value = ray.margin(best)
    rounding = torch.finfo(ray.x.dtype).eps
    clearly_below = -16 * rounding * origin.double().abs()
    t, open_ = best, crossed & (best > 0) & (value > clearly_below)
    for k in range(_DOUBLINGS):
        open_ = open_ & (t < end) & (value > (clearly_below if k < _EASY else 0.0))
        if not bool(open_.any()):
            break
        t = torch.where(open_, torch.minimum(search.crossing * (1 + rounding * 2.0**k), end), t)
        new = ray.margin(t)
        best, value = (
            torch.where(open_ & (new < value), t, best),
            torch.where(open_, torch.minimum(new, value), value),
        )
    return torch.where(crossed & (value > 0), search.lowest, best)
