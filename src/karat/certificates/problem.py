"""The worst margin of a two-layer net as a minimisation over the ball, for a batch of samples."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from karat.certificates.profile import Profile
from karat.certificates.rounding import FUNCTION, gamma
from karat.core.ball import Ball
from karat.core.norms import dual_exponent, norm


@dataclass(frozen=True, eq=False)
class Problem:
    r"""For every row i, the minimum over :math:`\delta` in the ball of the margin of a two-layer net.

    .. math:: \text{offset}_i + \sum_s c_{is}\, \psi(\langle w_s, x_i + \delta\rangle + b_s)

    Args:
        W: (m, d) hidden weights, float64 like all tensors here.
        b: (m,) biases.
        c: (n, m) output weights times label, or differences of two logits' weights.
        offset: (n,) the same of the output biases.
        x: (n, d) samples.
        ball: norm, box, and radii (n,).
        profile: psi.
        logits: (n, m) and (n,), sums of the two logits' absolute weights and biases, where c and offset are
            differences: a margin that is taken as the difference of two evaluated logits rounds like these.
    """

    W: Tensor
    b: Tensor
    c: Tensor
    offset: Tensor
    x: Tensor
    ball: Ball
    profile: Profile
    logits: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self.x)

    def rows(self, index: Tensor) -> "Problem":
        """The problems of some samples."""
        return replace(
            self,
            c=self.c[index],
            offset=self.offset[index],
            x=self.x[index],
            ball=self.ball.with_tau(self.tau[index]),
            logits=None if self.logits is None else (self.logits[0][index], self.logits[1][index]),
        )

    @cached_property
    def tau(self) -> Tensor:
        """(n,) radii."""
        return self.ball.radius(self.x)

    @cached_property
    def z(self) -> Tensor:
        """(n, m) preactivations at the centre."""
        return self.x @ self.W.T + self.b

    @cached_property
    def row_norms(self) -> Tensor:
        """(m,) dual norms of the rows of W."""
        return norm(self.W, dual_exponent(self.ball.p))

    @cached_property
    def magnitude(self) -> Tensor:
        """(n, m) |W||x| + |b| + 2 tau |w|_q: what roundings of preactivations are relative to."""
        centre = self.x.abs() @ self.W.abs().T + self.b.abs()
        return centre + 2 * self.tau.unsqueeze(1) * self.row_norms

    @property
    def gamma(self) -> float:
        """Relative error of a sum over inputs and neurons."""
        return gamma(self.W.shape[0] + self.W.shape[1])

    @cached_property
    def interval(self) -> tuple[Tensor, Tensor]:
        """(n, m) lower and upper ends of every preactivation over the ball, rounded outwards."""
        reach = self.tau.unsqueeze(1) * self.row_norms
        below, above = -reach, reach
        if self.ball.box is not None:
            low = torch.maximum(self.ball.box[0] - self.x, -self.tau.unsqueeze(1))
            high = torch.minimum(self.ball.box[1] - self.x, self.tau.unsqueeze(1))
            plus, minus = self.W.clamp_min(0).T, self.W.clamp_max(0).T
            below = torch.maximum(below, low @ plus + high @ minus)
            above = torch.minimum(above, high @ plus + low @ minus)
        pad = self.gamma * self.magnitude
        return self.z + below - pad, self.z + above + pad

    def value(self, delta: Tensor) -> Tensor:
        """(n,) margins at x + delta."""
        z = (self.x + delta) @ self.W.T + self.b
        return self.offset + (self.c * self.profile.value(z)).sum(dim=1)

    def value_error(self, delta: Tensor) -> Tensor:
        """(n,) bound on the rounding of `value`, and of any other float64 evaluation of the same margin."""
        x = self.x + delta
        z = x @ self.W.T + self.b
        size = x.abs() @ self.W.abs().T + self.b.abs() + self.profile.size
        value = self.profile.value(z).abs()
        steep = max(abs(slope) for slope in self.profile.steepness)
        slope = torch.full_like(z, steep) if steep < torch.inf else 2 * z.abs() + self.gamma * size
        weight, offset = self.logits or (self.c.abs(), self.offset.abs())
        error = weight * (value + (1 + slope) * size)
        return (self.gamma + FUNCTION) * (error.sum(dim=1) + offset)
