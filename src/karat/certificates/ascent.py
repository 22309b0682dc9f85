"""Ascent on the slopes of the dual bound: accelerated proximal steps with a smoothed support function."""

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
    """N relaxed problems that share their weights: maximise D over the slopes.

        D(alpha) = const + sum_s h_s(alpha_s) + <alpha, z> + min over the ball of <W' alpha + fixed, delta>

    Args:
        W: (m, d).
        curvature: largest eigenvalue of the Gram matrix of the unit rows.
        z: (N, m).
        fixed: (N, d) linear part that no slope changes.
        const: (N,).
        hulls: of all neurons.
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
        """argmin over the ball of <r, delta> + mu |delta|^2 / 2: the projection of -r / mu."""
        if self.ball.box is not None or self.ball.p == 1:
            return self.ball.project(-r / mu.unsqueeze(1), self.x)
        if self.ball.p == 2:
            return -r / torch.maximum(mu, torch.linalg.vector_norm(r, dim=1) / tau).unsqueeze(1)
        bound = tau.unsqueeze(1)
        return torch.minimum(torch.maximum(-r / mu.unsqueeze(1), -bound), bound)


@dataclass(frozen=True, eq=False)
class Ascent:
    """Best slopes (N, m), their values (N,), and the perturbations (N, d) that answer the last slopes."""

    alpha: Tensor
    value: Tensor
    delta: Tensor


def gram_curvature(W: Tensor) -> float:
    """Largest eigenvalue of the Gram matrix of the rows of W scaled to length one."""
    unit = W / torch.linalg.vector_norm(W, dim=1, keepdim=True).clamp_min(1e-300)
    small = unit @ unit.T if unit.shape[0] <= unit.shape[1] else unit.T @ unit
    return max(float(torch.linalg.eigvalsh(small)[-1]), 1e-12) if small.numel() else 1.0


def ascend(relaxed: Relaxed, alpha: Tensor, *, steps: int, sharpness: tuple[float, float]) -> Ascent:
    """Raise D from the given slopes; the best slopes met are kept.

    The support function is smoothed to max <r, v> - mu |v|^2 / 2, whose gradient is the projection of r / mu
    to the ball; mu falls with the steps. Steps are mu / (curvature |w_s|^2) per neuron, with momentum that
    restarts when it points downhill.

    Args:
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
        level = sharpness[0] ** (1 - share) * sharpness[1] ** share
        mu = (_scale(ahead_r, reference, relaxed.ball.p, level) / tau).clamp_min(1e-280)
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


def _scale(r: Tensor, reference: Tensor, p: float, level: float) -> Tensor:
    """Size of r that mu is measured in.

    For p = 2 the smoothed answer is the true one while mu <= |r| / tau. Below that the answer moves inside
    the ball, as it must where the relaxation is minimised in the interior and the true r is zero.
    """
    if p == 2:
        return torch.maximum(torch.linalg.vector_norm(r, dim=1), level * reference)
    if p == 1:
        return level * torch.maximum(r.abs().amax(dim=1), 0.1 * reference)
    return level * torch.maximum(r.abs().mean(dim=1), 0.1 * reference / r.shape[1] ** 0.5)


def relax(problem: Problem, hulls: Hull | None = None, curvature: float | None = None) -> Relaxed:
    """The relaxed problems of all samples over the ball's own intervals."""
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
    """Lower bounds (n,) with slopes chosen by ascent, those slopes (n, m), and answers delta (n, d).

    Never below `linear_relaxation`: its slopes are where the ascent starts.
    """
    relaxed = relax(problem)
    start = centre_lines(problem, relaxed.hulls)
    first = dual_bound(problem, start)
    found = ascend(relaxed, start, steps=steps, sharpness=DEFAULT_SHARPNESS[problem.ball.p])
    bound = dual_bound(problem, found.alpha)
    wins = bound > first
    alpha = torch.where(wins.unsqueeze(1), found.alpha, start)
    return torch.where(wins, bound, first), alpha, found.delta


DEFAULT_SHARPNESS = {1.0: (1.0, 0.02), 2.0: (0.1, 0.01), math.inf: (2.0, 0.1)}
