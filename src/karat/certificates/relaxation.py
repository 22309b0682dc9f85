"""The dual bound of a two-layer net: every neuron replaced by a line below it, one slope each."""

import torch
from torch import Tensor

from karat.certificates.conjugate import conjugate
from karat.certificates.hull import Hull, hull_of
from karat.certificates.problem import Problem
from karat.certificates.support import support


def dual_bound(problem: Problem, alpha: Tensor, interval: tuple[Tensor, Tensor] | None = None) -> Tensor:
    r"""A lower bound on the worst margin for any slopes :math:`\alpha`, rounding included.

    .. math:: D(\alpha) = \text{offset} + \sum_s h_s(\alpha_s) + \langle\alpha, z\rangle
        + \min_{\delta \in \text{ball}} \langle W^T \alpha, \delta\rangle, \qquad
        h_s(\alpha) = \min_{t \in [\text{low}_s, \text{high}_s]} c_s \psi(t) - \alpha t

    Its maximum over :math:`\alpha` is the least sum of convex envelopes over the ball. For rounding it
    is charged

    .. math:: \gamma_k \Big(|\text{offset}| + \sum_s |h_s|
        + \sum_s |\alpha_s| \big(|W||x| + |b| + 2 \tau \|w_s\|_q\big)_s\Big), \qquad k = 2 (d + m + 8).

    Args:
        problem: the problems.
        alpha: (n, m) slopes.
        interval: (n, m) ends of the preactivations, the ball's own when left out.

    Returns:
        (n,) bounds.
    """
    low, high = problem.interval if interval is None else interval
    h, _ = conjugate(problem.profile, problem.c, alpha, low, high)
    grown = support(-alpha @ problem.W, problem.ball, problem.x)
    bound = problem.offset + h.sum(dim=1) + (alpha * problem.z).sum(dim=1) - grown
    scale = problem.offset.abs() + h.abs().sum(dim=1) + 4 * (alpha.abs() * problem.magnitude).sum(dim=1)
    return bound - problem.gamma * scale


def hull(problem: Problem) -> Hull:
    """Hulls of all neurons of all samples over the ball's own intervals."""
    low, high = problem.interval
    return hull_of(problem.profile, problem.c, low, high)


def centre_lines(problem: Problem, hulls: Hull | None = None) -> Tensor:
    """Slopes (n, m) of the lines along the convex envelopes at the centre; for the ReLU those of CROWN."""
    hulls = hull(problem) if hulls is None else hulls
    alpha = hulls.slope_at(problem.z)
    # Where the whole interval is on one convex piece the derivative is exact and the table is not.
    for left, right, curvature in problem.profile.pieces():
        if curvature != 0:
            low, high = problem.interval
            inside = (problem.c * curvature > 0) & (low >= left) & (high <= right)
            alpha = torch.where(inside, problem.c * problem.profile.derivative(problem.z), alpha)
    return alpha


def linear_relaxation(problem: Problem) -> Tensor:
    """Lower bounds (n,) from the lines at the centre: CROWN's bound for the ReLU."""
    return dual_bound(problem, centre_lines(problem))
