"""Lipschitz certificates: how fast the margin can fall, for the whole net or within the ball."""

import torch
from torch import Tensor

from karat.certificates.interval_norm import interval_norm
from karat.certificates.problem import Problem
from karat.certificates.rounding import gamma
from karat.certificates.secant import secant_range
from karat.core.norms import dual_exponent, norm


def product_constant(problem: Problem) -> Tensor:
    r"""(n,) product bounds: :math:`\max|\psi'|\, \|W\|_{op} \|c\|_2` for p = 2, and one summed over neurons.

    .. math:: \max|\psi'|\, \sum_s |c_s|\, \|w_s\|_q

    holds for every p.
    """
    steep = max(abs(slope) for slope in problem.profile.steepness)
    plain = problem.c.abs() @ norm(problem.W, dual_exponent(problem.ball.p))
    if problem.ball.p == 2:
        spectral = torch.linalg.matrix_norm(problem.W, ord=2) * norm(problem.c, 2)
        plain = torch.minimum(plain, spectral)
    return torch.where(plain > 0, steep * plain, 0.0) * (1 + 1e-9 + problem.gamma)


def global_constant(problem: Problem) -> Tensor:
    """(n,) SDP bounds on the Lipschitz constant of the margin in the ball's norm, one per distinct weight c.

    Neuron s contributes c_s w_s times a secant slope of psi, anywhere in the range of psi'. Infinite for
    activations of unbounded slope.
    """
    distinct, member = problem.c.unique(dim=0, return_inverse=True)
    slopes = torch.tensor(problem.profile.steepness, dtype=problem.W.dtype)
    if not bool(torch.isfinite(slopes).all()):
        return torch.full_like(problem.offset, torch.inf)
    constants = []
    for c in distinct:
        ends = torch.stack([c * slopes[0], c * slopes[1]])
        constants.append(interval_norm(problem.W, ends.amin(0), ends.amax(0), problem.ball.p))
    table = torch.tensor(constants, dtype=problem.W.dtype)
    return torch.minimum(table[member], product_constant(problem))


def lipschitz_bound(problem: Problem, constant: Tensor) -> Tensor:
    """Lower bounds (n,) margin - tau * constant, rounding included."""
    zero = torch.zeros_like(problem.x)
    fall = torch.where(problem.tau > 0, problem.tau * constant, 0.0)
    return problem.value(zero) - problem.value_error(zero) - fall * (1 + gamma(4))


def secant_bound(problem: Problem, *, rounds: int = 60) -> Tensor:
    r"""Lower bounds (n,) from the secants that are possible inside each sample's ball.

    .. math:: \text{margin}(x + \delta) - \text{margin}(x) = \Big\langle \sum_s c_s t_s w_s,
        \delta\Big\rangle, \qquad t_s \text{ in the secant range of neuron } s

    Much narrower ranges than those of the global constant: an unstable ReLU with 0 < z < r has t >= z / r.
    """
    low, high = secant_range(problem.profile, problem.z, *problem.interval)
    ends = torch.stack([problem.c * low, problem.c * high])
    low, high = ends.amin(dim=0), ends.amax(dim=0)
    constants = [
        interval_norm(problem.W, low[i], high[i], problem.ball.p, rounds=rounds) for i in range(len(problem))
    ]
    return lipschitz_bound(problem, torch.tensor(constants, dtype=problem.W.dtype))
