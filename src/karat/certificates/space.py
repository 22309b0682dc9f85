"""One sample's search space: its unstable neurons, everything that stays linear folded into constants."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.certificates.ascent import Relaxed, gram_curvature
from karat.certificates.conjugate import conjugate
from karat.certificates.hull import Hull, hull_of
from karat.certificates.problem import Problem
from karat.certificates.support import support
from karat.core.ball import Ball


@dataclass(frozen=True, eq=False)
class Space:
    """A single sample over the coordinates and neurons that matter.

    Args:
        problem: the sample's own problem, one row.
        unstable: (U,) indices of neurons that are not linear.
        W: (U, k) their weights in the coordinates of the search.
        basis: (d, k) orthonormal, or None if k = d.
        z: (U,) preactivations at the centre.
        c: (U,) output weights.
        low: (U,) lower ends of the preactivations over the ball.
        high: (U,) upper ends.
        magnitude: (U,) what roundings of preactivations are relative to.
        fixed: (k,) gradient of the linear part.
        const: its value at the centre.
        ball: of the search coordinates, radius a number.
        residual: (U + 1,) rounding of the change of basis, times tau.
        scale: magnitude of the folded terms.
        curvature: of the Gram matrix.
    """

    problem: Problem
    unstable: Tensor
    W: Tensor
    basis: Tensor | None
    z: Tensor
    c: Tensor
    low: Tensor
    high: Tensor
    magnitude: Tensor
    fixed: Tensor
    const: float
    ball: Ball
    residual: Tensor
    scale: float
    curvature: float

    def relaxed(self, hulls: Hull, count: int) -> Relaxed:
        """The relaxed problems of `count` domains with these hulls."""
        box = self.ball.box is not None
        return Relaxed(
            self.W,
            self.curvature,
            self.z.expand(count, -1),
            self.fixed.expand(count, -1),
            torch.full((count,), self.const, dtype=self.W.dtype),
            hulls,
            self.ball,
            self.problem.x.expand(count, -1) if box else None,
        )

    def hulls(self, low: Tensor, high: Tensor) -> Hull:
        """Hulls (N, U, P) of the domains (N, U)."""
        return hull_of(self.problem.profile, self.c, low, high)

    def bound(self, alpha: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The dual bound (N,) of the domains, rounding included.

        Args:
            alpha: (N, U) slopes of the lines.
            low: (N, U) lower ends of the domains.
            high: (N, U) upper ends.
        """
        h, _ = conjugate(self.problem.profile, self.c, alpha, low, high)
        r = alpha @ self.W + self.fixed
        x = self.problem.x.expand(len(alpha), -1) if self.ball.box is not None else None
        value = self.const + h.sum(dim=1) + alpha @ self.z - support(-r, self.ball, x)
        size = alpha.abs()
        rounding = self.problem.gamma * (self.scale + h.abs().sum(dim=1) + 4 * size @ self.magnitude)
        return value - rounding - size @ self.residual[:-1] - self.residual[-1]

    def answer(self, delta: Tensor) -> tuple[Tensor, Tensor]:
        """Preactivations (N, U) and margins (N,) at perturbations (N, k), without any claim to rounding."""
        z = self.z + delta @ self.W.T
        value = (self.c * self.problem.profile.value(z)).sum(dim=1)
        return z, self.const + value + delta @ self.fixed

    def lift(self, delta: Tensor) -> Tensor:
        """Perturbations (N, d) in input space, inside the ball."""
        full = delta if self.basis is None else delta @ self.basis.T
        x = self.problem.x.expand(len(full), -1) if self.ball.box is not None else None
        return self.ball.project(full, x)


def space_of(problem: Problem) -> Space:
    """Fold the linear neurons of a one-row problem; in l2 without a box, rotate to the span of the rest."""
    if len(problem) != 1:
        raise ValueError(f"`space_of` takes one sample, got {len(problem)}.")
    low, high = (side[0] for side in problem.interval)
    c, z = problem.c[0], problem.z[0]
    linear = c == 0
    for left, right, curvature in problem.profile.pieces():
        if curvature == 0:
            linear |= (low >= left) & (high <= right)
    unstable = (~linear).nonzero().squeeze(1)
    alpha = torch.where(linear, c * problem.profile.derivative(z.clamp(low, high)), 0.0)
    if bool(linear.any()):
        # At a knot that is an end of the interval psi' may be the slope of the piece outside.
        alpha = torch.where(linear, c * problem.profile.derivative((low + high) / 2), alpha)
    h, _ = conjugate(problem.profile, c, alpha, low, high)
    h = torch.where(linear, h, 0.0)
    fixed = alpha @ problem.W
    tau = float(problem.tau[0])
    const = float(problem.offset[0] + h.sum() + alpha @ z)
    scale = float(problem.offset[0].abs() + h.abs().sum() + 4 * alpha.abs() @ problem.magnitude[0])
    W, basis = problem.W[unstable], None
    residual = torch.zeros(len(unstable) + 1, dtype=W.dtype)
    if problem.ball.p == 2 and problem.ball.box is None and len(unstable) + 1 < problem.W.shape[1]:
        stacked = torch.cat([W, fixed.unsqueeze(0)])
        basis = torch.linalg.qr(stacked.T).Q
        inside = stacked @ basis
        defect = float(torch.linalg.matrix_norm(basis.T @ basis - torch.eye(basis.shape[1], dtype=W.dtype)))
        lost = torch.linalg.vector_norm(stacked - inside @ basis.T, dim=1)
        residual = tau * (lost + 2 * defect * torch.linalg.vector_norm(stacked, dim=1))
        W, fixed = inside[:-1], inside[-1]
    return Space(
        problem,
        unstable,
        W.contiguous(),
        basis,
        z[unstable],
        c[unstable],
        low[unstable],
        high[unstable],
        problem.magnitude[0][unstable],
        fixed,
        const,
        replace(problem.ball, tau=tau),
        residual,
        scale,
        gram_curvature(W),
    )
