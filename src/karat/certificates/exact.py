"""One domain's relaxation solved to the end: a cone program, or long ascents where that is too large."""

import math

import torch
from torch import Tensor

from karat.certificates.ascent import ascend
from karat.certificates.hull import Hull, hull_of
from karat.certificates.leaf import solve_leaf
from karat.certificates.space import Space

SHARP = {1.0: (0.1, 0.01), 2.0: (0.01, 0.001), math.inf: (0.1, 0.01)}
_REFINEMENTS = 6
_STEPS = 80


def solve_domain(
    space: Space, low: Tensor, high: Tensor, alpha: Tensor, seconds: float
) -> tuple[Tensor, Tensor, Hull]:
    """Slopes (1, U), answer (1, k) and hulls of one domain (1, U).

    Hulls of curved functions are tables, refined around the last answer and solved again: the slopes converge
    to those of the true envelopes.

    Args:
        space: the search space.
        low: (1, U) lower ends of the domain.
        high: (1, U) upper ends.
        alpha: (1, U) slopes to start from.
        seconds: time limit of the cone solver.
    """
    profile = space.problem.profile
    hulls = space.hulls(low, high)
    best, answer, value = alpha, torch.zeros_like(space.fixed).unsqueeze(0), -math.inf
    for _ in range(1 if profile.piecewise_linear else _REFINEMENTS):
        solved = solve_leaf(space, hulls, low[0], high[0], seconds)
        if solved is None:
            ascent = ascend(space.relaxed(hulls, 1), alpha, steps=_STEPS, sharpness=SHARP[space.ball.p])
            alpha, delta = ascent.alpha, ascent.delta
        else:
            alpha, delta = solved[0].unsqueeze(0), solved[1].unsqueeze(0)
        bound = float(space.bound(alpha, low, high)[0])
        gain = bound - value
        if gain > 0:
            best, answer, value = alpha, delta, bound
        if gain < 1e-10 * (space.scale + abs(bound)):
            break
        if not profile.piecewise_linear:
            s, _ = space.answer(delta)
            hulls = hull_of(profile, space.c, low, high, torch.minimum(torch.maximum(s, low), high))
    return best, answer, hulls
