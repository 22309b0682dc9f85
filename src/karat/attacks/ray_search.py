"""Search along rays by the best route the classifier allows, and the step just past what it finds."""

from functools import partial

import torch
from torch import Tensor

from karat.attacks.bracket import close_in, search_bracket
from karat.attacks.breakpoints import search_breakpoints
from karat.attacks.line import profile_margin
from karat.attacks.ray import Ray, RaySearch

# Entries of one (samples, neurons) table: keeps the sorted tables of wide nets near 200 MB.
_TABLE = 2**21
_DOUBLINGS = 60


def search_ray(ray: Ray, margin: Tensor, gradient: Tensor, end: Tensor, *, points: int) -> RaySearch:
    """First crossing and minimum on [0, end].

    Three routes: sorted kinks if the classifier offers the line of a piecewise-linear net; scan and bracket
    on its line if the net is smooth (m operations per point instead of m d); scan and bracket on its margin
    otherwise.

    Args:
        margin, gradient: at the origin of the rays; end: (n,) float64; points: resolution of a scan.
    """
    descent = -(gradient * ray.direction).flatten(1).sum(dim=1).double()
    guess = torch.where(descent > 0, margin.double() / descent, torch.inf)
    tolerance = 8 * torch.finfo(ray.x.dtype).eps
    probe = ray.profile(slice(0, 1))
    if probe is None:
        return search_bracket(ray.margin, margin.double(), guess, end, points=points, tolerance=tolerance)
    width = probe.start.shape[1] * max(1, len(probe.activation.kinks))
    parts = []
    for block in torch.arange(len(end), device=end.device).split(max(1, _TABLE // max(1, width))):
        profile = ray.profile(block)
        assert profile is not None
        if profile.activation.piecewise_linear:
            parts.append(search_breakpoints(profile, end[block]))
            continue
        evaluate = partial(profile_margin, profile)
        origin = evaluate(torch.zeros_like(end[block]))
        parts.append(
            search_bracket(evaluate, origin, guess[block], end[block], points=points, tolerance=tolerance)
        )
    return RaySearch(torch.cat([part.crossing for part in parts]), torch.cat([part.lowest for part in parts]))


def past_crossing(ray: Ray, search: RaySearch, end: Tensor) -> Tensor:
    """Positions (n,) where the classifier itself sees a margin <= 0, as little past the crossing as it takes.

    Rounding may leave the margin at a computed crossing positive. Then the step grows by 1, 2, 4, ...
    rounding units until the margin, evaluated anew, is <= 0, and the excess is bisected away. Rays without a
    crossing before `end` get their lowest point.
    """
    t = torch.where(torch.isfinite(search.crossing), search.crossing, search.lowest)
    rows = torch.isfinite(search.crossing).nonzero().squeeze(1)
    value = ray.margin(t[rows], rows)
    rows, value = rows[value > 0], value[value > 0]
    unit = torch.finfo(ray.x.dtype).eps
    for k in range(_DOUBLINGS):
        if len(rows) == 0:
            return t
        near = t[rows]
        far = torch.minimum(search.crossing[rows] * (1 + unit * 2.0**k), end[rows])
        far_value = ray.margin(far, rows)
        hit = far_value <= 0
        if bool(hit.any()):
            done = rows[hit]
            ends = (near[hit], far[hit], value[hit], far_value[hit])
            t[done] = close_in(partial(_margin_of, ray, done), *ends, tolerance=unit)
        stuck = ~hit & (far >= end[rows])
        t[rows[stuck]] = search.lowest[rows[stuck]]
        going = ~hit & ~stuck
        rows, value = rows[going], far_value[going]
        t[rows] = far[going]
    t[rows] = search.lowest[rows]
    return t


def _margin_of(ray: Ray, samples: Tensor, t: Tensor, rows: Tensor) -> Tensor:
    """Margins on the rays of a subset of the samples, `rows` counting within the subset."""
    return ray.margin(t, samples[rows])
