"""Ascent on the dual bound: better lines below the neurons, by accelerated proximal steps."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.certificates.hull import Hull
from karat.certificates.problem import Problem
from karat.certificates.relaxation import centre_lines, dual_bound, hull
from karat.certificates.support import support
from karat.core.ball import Ball


@dataclass(frozen=True, eq=False)
class Relaxed:
    r"""N relaxed problems that share their weights: maximise D over the slopes :math:`\alpha` of the lines.

    .. math:: D(\alpha) = \text{const} + \sum_s h_s(\alpha_s) + \langle\alpha, z\rangle
        + \min_{\delta \in \text{ball}} \langle W^T \alpha + \text{fixed}, \delta\rangle

    Args:
        W: (m, d) hidden weights.
        curvature: largest eigenvalue of the Gram matrix of the unit rows.
        z: (N, m) preactivations at the centre.
        fixed: (N, d) linear part that no slope changes.
        const: (N,) constants.
        hulls: of all neurons; h_s is the conjugate of hull s.
        ball: radii (N,).
        x: (N, d), or None without a box.
    """

    W: Tensor
    curvature: float
    z: Tensor
    fixed: Tensor
    const: Tensor
    hulls: Hull
    ball: Ball
    x: Tensor | None

    def value(self, alpha: Tensor, r: Tensor) -> Tensor:
        """D on the hulls, without the charge for rounding."""
        linear = self.hulls.conjugate(alpha) + alpha * self.z
        if self.ball.box is None and self.ball.p == 2:  # the common case, without the care of `support`
            grown = self.ball.tau * torch.linalg.vector_norm(r, dim=1)
        else:
            grown = support(-r, self.ball, self.x)
        return self.const + linear.sum(dim=1) - grown

    def answer(self, r: Tensor, mu: Tensor, tau: Tensor) -> Tensor:
        r"""The minimiser of :math:`\langle r, \delta\rangle + \mu \|\delta\|^2/2` in the ball: a projection.

        Args:
            r: (N, d) linear forms.
            mu: (N,) smoothing.
            tau: (N,) radii.
        """
        if self.ball.box is not None or self.ball.p == 1:
            return self.ball.project(-r / mu.unsqueeze(1), self.x)
        if self.ball.p == 2:
            return -r / torch.maximum(mu, torch.linalg.vector_norm(r, dim=1) / tau).unsqueeze(1)
        bound = tau.unsqueeze(1)
        return torch.minimum(torch.maximum(-r / mu.unsqueeze(1), -bound), bound)


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where an ascent ended.

    Args:
        alpha: (N, m) best slopes met.
        value: (N,) the dual function there.
        delta: (N, d) perturbations that answer the last slopes.
    """

    alpha: Tensor
    value: Tensor
    delta: Tensor


def gram_curvature(W: Tensor) -> float:
    """Largest eigenvalue of the Gram matrix of the rows of W scaled to length one."""
    unit = W / torch.linalg.vector_norm(W, dim=1, keepdim=True).clamp_min(1e-300)
    small = unit @ unit.T if unit.shape[0] <= unit.shape[1] else unit.T @ unit
    return max(float(torch.linalg.eigvalsh(small)[-1]), 1e-12) if small.numel() else 1.0


def ascend(relaxed: Relaxed, alpha: Tensor, *, steps: int, sharpness: tuple[float, float]) -> Ascent:
    r"""Raise D from the given slopes; the best slopes met are kept.

    The support function is smoothed to :math:`\max_v \langle r, v\rangle - \mu \|v\|^2/2`, whose gradient is
    the projection of :math:`r/\mu` to the ball; mu falls with the steps. Steps are
    :math:`\mu / (\text{curvature} \cdot \|w_s\|^2)` per neuron, with momentum that restarts when it points
    downhill.

    Args:
        relaxed: the problems.
        alpha: (N, m) slopes to start from.
        steps: of the ascent.
        sharpness: mu in units of |r| / tau at the first and the last step.
    """
    r = alpha @ relaxed.W + relaxed.fixed
    best, best_value = alpha, relaxed.value(alpha, r)
    square = relaxed.W.square().sum(dim=1)
    # A neuron without weights has nothing to climb: its slope stays.
    inverse = torch.where(square > 0, 1 / (relaxed.curvature * square.clamp_min(1e-200)), 0.0)
    tau = relaxed.ball.radius(r).clamp_min(1e-300)
    lengths = torch.linalg.vector_norm(relaxed.W, dim=1)
    reference = torch.linalg.vector_norm(torch.cat([alpha * lengths, relaxed.fixed], dim=1), dim=1)
    ahead, ahead_r, momentum = alpha, r, torch.ones_like(tau)
    delta = torch.zeros_like(r)
    for k in range(steps):
        share = k / max(steps - 1, 1)
        sharp = sharpness[0] ** (1 - share) * sharpness[1] ** share
        mu = (_scale(ahead_r, reference, relaxed.ball.p, sharp) / tau).clamp_min(1e-280)
        delta = relaxed.answer(ahead_r, mu, tau)
        gradient = relaxed.z + delta @ relaxed.W.T
        step = mu.unsqueeze(1) * inverse
        new = relaxed.hulls.prox(ahead + step * gradient, step)
        new_r = new @ relaxed.W + relaxed.fixed
        value = relaxed.value(new, new_r)
        wins = value > best_value
        best, best_value = torch.where(wins.unsqueeze(1), new, best), torch.where(wins, value, best_value)
        downhill = ((new - alpha) * (ahead - new) / step.clamp_min(1e-200)).sum(dim=1) > 0
        following = (1 + torch.sqrt(1 + 4 * momentum.square())) / 2
        beta = torch.where(downhill, 0.0, (momentum - 1) / following).unsqueeze(1)
        momentum = torch.where(downhill, 1.0, following)
        ahead, ahead_r = new + beta * (new - alpha), new_r + beta * (new_r - r)
        alpha, r = new, new_r
    return Ascent(best, best_value, delta)


def _scale(r: Tensor, reference: Tensor, p: float, sharp: float) -> Tensor:
    """Size of r that mu is measured in.

    For p = 2 the smoothed answer is the true one while mu <= |r| / tau. Below that the answer moves inside
    the ball, as it must where the relaxation is minimised in the interior and the true r is zero.
    """
    if p == 2:
        return torch.maximum(torch.linalg.vector_norm(r, dim=1), sharp * reference)
    if p == 1:
        return sharp * torch.maximum(r.abs().amax(dim=1), 0.1 * reference)
    return sharp * torch.maximum(r.abs().mean(dim=1), 0.1 * reference / r.shape[1] ** 0.5)


def relax(problem: Problem, hulls: Hull | None = None, curvature: float | None = None) -> Relaxed:
    """The relaxed problems of all samples over the ball's own intervals.

    Args:
        problem: the problems.
        hulls: of all neurons, where they are known already.
        curvature: of the Gram matrix, where it is known already.
    """
    return Relaxed(
        problem.W,
        gram_curvature(problem.W) if curvature is None else curvature,
        problem.z,
        torch.zeros_like(problem.x),
        problem.offset,
        hull(problem) if hulls is None else hulls,
        problem.ball,
        problem.x if problem.ball.box is not None else None,
    )


def optimised_lines(problem: Problem, *, steps: int = 40) -> tuple[Tensor, Tensor, Tensor]:
    """Lower bounds (n,) with lines chosen by ascent, their slopes (n, m), and answers delta (n, d).

    Never below `linear_relaxation`: its lines are where the ascent starts.

    Args:
        problem: the problems.
        steps: of the ascent.
    """
    relaxed = relax(problem)
    start = centre_lines(problem, relaxed.hulls)
    first = dual_bound(problem, start)
    ascent = ascend(relaxed, start, steps=steps, sharpness=DEFAULT_SHARPNESS[problem.ball.p])
    bound = dual_bound(problem, ascent.alpha)
    wins = bound > first
    alpha = torch.where(wins.unsqueeze(1), ascent.alpha, start)
    return torch.where(wins, bound, first), alpha, ascent.delta


DEFAULT_SHARPNESS = {1.0: (1.0, 0.02), 2.0: (0.1, 0.01), math.inf: (2.0, 0.1)}
