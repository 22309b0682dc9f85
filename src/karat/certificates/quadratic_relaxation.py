"""The quadratic relaxation in l2: parabolas below the neurons, their sum minimised over the whole ball."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.certificates.parabola import Graph, graph_of
from karat.certificates.problem import Problem
from karat.certificates.rounding import gamma

BENDS = ((1.0, 0.8), (1.3, 1.6))
_ROUNDS = 8
_MARGIN = 1e-9  # relative error granted to LAPACK's largest eigenvalue
_GRID = torch.linspace(0, 1, 33, dtype=torch.float64)


def quadratic_bound(problem: Problem) -> tuple[Tensor, Tensor]:
    r"""Lower bounds (n,) for p = 2, and the perturbations (n, d) that answer them.

    With curvatures :math:`\lambda_s \ge 0`, slopes :math:`\alpha_s`, :math:`Q = \sum_s \lambda_s w_s w_s^T`
    and :math:`r = W^T \alpha`, parabolas below the neurons bound the margin by a quadratic, and a multiplier
    :math:`\nu` of the ball bounds that:

    .. math:: c_s \psi(t) &\ge h_s + \alpha_s t - \lambda_s (t - z_s)^2
        \quad \text{on } [\text{low}_s, \text{high}_s] \\
        \text{margin}(x + \delta) &\ge \text{offset} + \sum_s h_s + \langle\alpha, z\rangle
        + \langle r, \delta\rangle - \delta^T Q \delta \\
        &\ge \dots - \tfrac14 r^T (\nu - Q)^{-1} r - \nu \tau^2
        \quad \text{for every } \nu > \lambda_{\max}(Q)

    A line that must stay below a concave neuron pays for the far end of its interval, and every neuron pays;
    a parabola pays lam |w_s delta|^2, and the ball allows that sum only once. Zero curvatures give the linear
    relaxation. Slopes are those of the bent functions' convex hulls at the last answer.

    Reading: a box only makes the set smaller, so the bound of the ball holds; for p = 1, inf it is -inf.
    """
    bounds = torch.full_like(problem.offset, -torch.inf)
    answers = torch.zeros_like(problem.x)
    if problem.ball.p != 2:
        return bounds, answers
    for i in range(len(problem)):
        one = problem.rows(torch.tensor([i]))
        if float(one.tau[0]) == 0:
            continue
        for share, cap in BENDS:
            value, delta = _one(one, share, cap)
            if value > float(bounds[i]):
                bounds[i], answers[i] = value, delta
    return bounds, answers


def _one(problem: Problem, share: float, cap: float) -> tuple[float, Tensor]:
    """The best bound over a few rounds of slopes, for one sample and one choice of curvatures."""
    low, high = (side[0] for side in problem.interval)
    z, W = problem.z[0], problem.W
    graph = graph_of(problem.profile, problem.c[0], z, low, high)
    lam = _curvatures(graph, share, cap)
    hull, quadric = graph.bent(lam), _quadric(W, lam)
    alpha = hull.slope_at(z)
    best, answer = -torch.inf, torch.zeros_like(problem.x[0])
    tau = float(problem.tau[0])
    # z in the parabolas is the float one; the true centre is within a rounding of it.
    shift = problem.gamma * problem.magnitude[0]
    for k in range(_ROUNDS):
        h = graph.lowest(alpha, lam)
        value, delta = quadric.minimum(alpha @ W, tau)
        bound = float(problem.offset[0] + h.sum() + alpha @ z) + value
        size = problem.offset[0].abs() + h.abs().sum() + 4 * alpha.abs() @ problem.magnitude[0]
        charge = problem.gamma * float(size) + float((2 * lam * shift * (graph.width() + shift)).sum())
        if bound - charge > best:
            best, answer = bound - charge, delta
        s = torch.minimum(torch.maximum(z + W @ delta, low), high)
        alpha = alpha + (hull.slope_at(s) - alpha) * (2 / (k + 3))
    return best, answer


def _curvatures(graph: Graph, share: float, cap: float) -> Tensor:
    """Part of what the tangent at the centre needs, capped where a kink is near: chords are better there."""
    width = graph.width()
    most = 2 * cap * graph.c.abs() / torch.where(width > 0, width, 1.0)
    return torch.where(width > 0, torch.minimum(share * graph.steepest_bend(), most), 0.0)


@dataclass(frozen=True, eq=False)
class Quadric:
    """Q = F' F through the eigenvalues of F F'.

    Args:
        F: (k, d) rows sqrt(lam_s) w_s.
        values: (k,) eigenvalues of F F'.
        vectors: (k, k) its eigenvectors.
        top: sure to be at least eigmax(Q).
        trace: of Q, what its roundings are relative to.
    """

    F: Tensor
    values: Tensor
    vectors: Tensor
    top: float
    trace: float

    def minimum(self, r: Tensor, tau: float) -> tuple[float, Tensor]:
        """A lower bound on <r, delta> - delta' Q delta over |delta| <= tau, and a minimiser of that length.

        With A = nu - Q >= nu - top and any point v, a convex quadratic is at least its value at v less
        |r + 2 A v|^2 / (4 (nu - top)): the solve may be inexact, the bound is not.
        """
        length = float(torch.linalg.vector_norm(r))
        turned = self.vectors.T @ (self.F @ r)
        least = max(self.top * (1 + 1e-6), 1e-12 * length / tau, 1e-280)
        nu = self._best(turned, length, tau, least)
        v = self._solve(r, turned, nu)
        image = self.F.T @ (self.F @ v)
        size = float(torch.linalg.vector_norm(v))
        unit = gamma(2 * sum(self.F.shape) + 8)
        rest = float(torch.linalg.vector_norm(r + 2 * (nu * v - image)))
        rest += unit * (length + 2 * (nu + self.trace) * size)
        value = float(r @ v + nu * (v @ v) - v @ image) - rest**2 / (4 * (nu - self.top)) - nu * tau**2
        value -= unit * (length * size + (nu + self.trace) * (size**2 + 2 * tau**2) + length * tau)
        return value, v * (tau / size) if size > 0 else v

    def _solve(self, r: Tensor, turned: Tensor, nu: float) -> Tensor:
        """-(nu - Q)^-1 r / 2."""
        inner = self.vectors @ (turned / (nu - self.values))
        return -(r + self.F.T @ inner) / (2 * nu)

    def _best(self, turned: Tensor, length: float, tau: float, least: float) -> float:
        """The nu that maximises the dual, which is concave: the best of a grid, refined around it."""
        low, high = least, least + max(self.top, length / tau, 1e-280)
        for spread in (4.0, 1.0, 1.0, 1.0):
            nus = low + (high - low) * _GRID**spread
            inner = (turned.square() / (nus.unsqueeze(1) - self.values)).sum(dim=1)
            best = int((-(length**2 + inner) / (4 * nus) - nus * tau**2).argmax())
            low, high = float(nus[max(best - 1, 0)]), float(nus[min(best + 1, len(nus) - 1)])
        return float(nus[best])


def _quadric(W: Tensor, lam: Tensor) -> Quadric:
    keep = lam > 0
    F = lam[keep].sqrt().unsqueeze(1) * W[keep]
    gram = F @ F.T
    values, vectors = torch.linalg.eigh(gram)
    trace = float(gram.diagonal().sum())
    top = float(values[-1]) if len(values) else 0.0
    return Quadric(F, values, vectors, top * (1 + _MARGIN) + gamma(max(F.shape)) * trace, trace)
