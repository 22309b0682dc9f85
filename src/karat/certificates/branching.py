"""How a domain is split: which neuron, where, and what the new half-space says about the others."""

import torch
from torch import Tensor

from karat.certificates.hull import Hull
from karat.certificates.profile import Profile
from karat.certificates.space import Space
from karat.certificates.tightening import Tightening

CUTS = 4  # neurons remembered per domain, to be cut together when few domains are open


def choose_split(
    profile: Profile, c: Tensor, hulls: Hull, s: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The neurons whose relaxations are loosest at the answer, and where to cut their intervals.

    The gaps c psi(s) - envelope(s) sum to the distance between margin and relaxation at that point, so the
    largest one is to blame. Piecewise-linear functions are cut at a concave kink, after which both sides are
    exact; curved ones between the answer and the point of the widest gap, kept away from the ends.

    Args:
        profile: psi.
        c: (U,) output weights.
        hulls: (N, U, P) of the domains.
        s: (N, U) preactivations at the answer.
        low: (N, U) lower ends of the domains.
        high: (N, U) upper ends.

    Returns:
        neurons (N, K) and cuts (N, K), loosest first, the neuron -1 where nothing can be cut; total gap (N,).
    """
    s = torch.minimum(torch.maximum(s, low), high)
    gap = (c * profile.value(s) - hulls.envelope(s)).clamp_min(0)
    cut, possible = torch.zeros_like(s), torch.zeros_like(s, dtype=torch.bool)
    if profile.piecewise_linear:
        distance = torch.full_like(s, torch.inf)
        for knot, jump in zip(profile.knots, profile.jumps, strict=True):
            here = (c * jump < 0) & (low < knot) & (knot < high)
            nearer = here & ((s - knot).abs() < distance)
            cut = torch.where(nearer, knot, cut)
            distance = torch.where(nearer, (s - knot).abs(), distance)
            possible |= here
    else:
        width = high - low
        cut = torch.minimum(
            torch.maximum((s + hulls.widest_point()) / 2, low + 0.2 * width), high - 0.2 * width
        )
        possible = width > 1e-9 * (1 + low.abs() + high.abs())
        convex = _convex(profile, c, low, high)
        possible &= ~convex
        gap = torch.where(convex, 0.0, gap)
    total = gap.sum(dim=1)
    blame = torch.where(possible, gap, -1.0)
    if not profile.piecewise_linear:
        # A curved neuron whose answer sits at an end of its interval hides its gap: blame the largest one.
        hidden = torch.where(possible, hulls.largest_gap() - 1e-13 * hulls.values.abs().amax(dim=-1), -1.0)
        tiny = blame.amax(dim=1) <= 1e-3 * hidden.amax(dim=1)
        blame = torch.where(tiny.unsqueeze(1), hidden, blame)
    best, neuron = blame.topk(min(CUTS, blame.shape[1]), dim=1)
    cut = cut.gather(1, neuron)
    return torch.where(best > 0, neuron, -1), cut, total


def _convex(profile: Profile, c: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Whether c psi is convex on the whole interval, so that its gap is only the table's error."""
    convex = torch.ones_like(low, dtype=torch.bool)
    for left, right, curvature in profile.pieces():
        convex &= ~((c * curvature < 0) & (low < right) & (high > left))
    for knot, jump in zip(profile.knots, profile.jumps, strict=True):
        convex &= ~((c * jump < 0) & (low < knot) & (knot < high))
    return convex


def halves(
    space: Space, low: Tensor, high: Tensor, neuron: Tensor, cut: Tensor, tightening: Tightening | None
) -> tuple[Tensor, Tensor]:
    """Both halves (2N, U) of every domain, the other neurons' intervals tightened by the new half-space.

    Args:
        space: the search space.
        low: (N, U) lower ends of the domains.
        high: (N, U) upper ends.
        neuron: (N,) the neurons that are cut.
        cut: (N,) where.
        tightening: how far the others can move then; None leaves them alone.
    """
    index = neuron.unsqueeze(1)
    below, above = high.scatter(1, index, cut.unsqueeze(1)), low.scatter(1, index, cut.unsqueeze(1))
    low, high = torch.cat([low, above]), torch.cat([below, high])
    if tightening is None or len(neuron) == 0:
        return low, high
    side = torch.cat([torch.full_like(cut, -1.0), torch.full_like(cut, 1.0)])
    neuron, cut = neuron.repeat(2), cut.repeat(2)
    distance = side * (cut - space.z[neuron]) - tightening.pad * space.magnitude[neuron]
    up, down = tightening.reach(neuron, side, distance)
    pad = tightening.pad * space.magnitude
    low = torch.maximum(low, space.z - down - pad)
    return low, torch.minimum(high, space.z + up + pad)
