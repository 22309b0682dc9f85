r"""Robust training of the linearised net: a convex problem, solved with a certified lower bound.

.. math:: \min_{\|D\| \le \text{radius}} \; \frac1n \sum_i \max_k
          \ell\big(\text{margin}_{ik} + \text{slack}_{ik} + \langle F_{ik}, D \rangle\big)

:math:`F_{ik}` is :math:`y_i` times the weight gradient of the start at the k-th allowed point of sample i.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_shape
from karat.core.losses import Logistic, Loss
from karat.training.displacements import Displacements


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best displacement found.

    Args:
        D: the displacement.
        loss: its loss.
        bound: a certified lower bound on the loss of every displacement of the ball.
    """

    D: Tensor
    loss: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class LinearisedProblem:
    """The convex problem above: N points, the sample each belongs to, and margins without displacement.

    Args:
        space: features and ball.
        margin: (N,) margins at D = 0, slack included.
        sample: (N,) indices 0..n-1.
        loss: convex in the margin.
    """

    space: Displacements
    margin: Tensor
    sample: Tensor
    loss: Loss = field(default_factory=Logistic)

    def __post_init__(self) -> None:
        require_shape(self.sample, "sample", (len(self.margin),))

    def value(self, margins: Tensor) -> Tensor:
        r""":math:`\frac1n \sum_i \max_k \ell(\text{margins}_{ik})`."""
        losses = self.loss(margins)
        n = int(self.sample.max()) + 1
        worst = losses.new_full((n,), -torch.inf).scatter_reduce(0, self.sample, losses, "amax")
        return worst.mean()

    def shares(self, margins: Tensor, sharpness: float) -> Tensor:
        r"""Weights :math:`p_{ik}` of the smoothed maximum: a softmax of losses over each sample's points."""
        n = int(self.sample.max()) + 1
        losses = self.loss(margins) * sharpness
        top = losses.new_full((n,), -torch.inf).scatter_reduce(0, self.sample, losses, "amax")
        # Relative to the largest of each sample, so that nothing overflows.
        p = torch.exp(losses - top[self.sample])
        return p / p.new_zeros(n).scatter_add(0, self.sample, p)[self.sample]

    def lower_bound(self, margins: Tensor, shares: Tensor, radius: float) -> float:
        r"""A number below the loss of every displacement in the ball, whatever the shares.

        By convexity :math:`\ell(u) \ge \ell(u_j) + \ell'(u_j) (u - u_j)` at the given margins :math:`u_j`;
        averaging with the shares leaves a linear function of D, whose minimum over the ball is explicit:

        .. math:: \sum_j \tfrac{p_j}{n} \big(\ell(u_j) + \ell'(u_j) (\text{margin}_j - u_j)\big)
                  - \text{radius} \, \Big\| \sum_j \tfrac{p_j}{n} \ell'(u_j) F_j \Big\|_{\text{dual}}

        Args:
            margins: (N,) where the loss is linearised.
            shares: (N,) weights of the points, of sum 1 over the points of each sample.
            radius: of the ball.
        """
        n = int(self.sample.max()) + 1
        slope = self.loss.derivative(margins)
        constant = (shares * (self.loss(margins) + slope * (self.margin - margins))).sum() / n
        return float(constant - radius * self.space.dual_norm(self.space.combine(shares * slope / n)))

    def solve(self, radius: float, *, steps: int = 300, sharpness: float = 60.0) -> Optimum:
        """Accelerated projected gradient on the smoothed problem, restarted whenever the loss grows.

        Reading: smoothing only chooses the path; loss and lower bound are those of the unsmoothed problem.

        Args:
            radius: of the ball.
            steps: of the descent.
            sharpness: of the smoothed maximum; the larger, the closer to the maximum and the shorter the
                steps.
        """
        require_number(radius, "radius", "LinearisedProblem.solve", minimum=0)
        require_integer(steps, "steps", "LinearisedProblem.solve", minimum=1)
        n = int(self.sample.max()) + 1
        # Curvature of the smoothed loss in the margins of one sample: at most (1 + sharpness) / 4.
        rate = 4 * n / (max(self.space.steepness(), 1e-300) * (1 + sharpness))
        D = look = self.space.zero()
        best_D, best, bound, last, momentum = D, torch.inf, -torch.inf, torch.inf, 1.0
        for step in range(steps):
            margins = self.margin + self.space.margins(look)
            weights = self.shares(margins, sharpness) * self.loss.derivative(margins) / n
            D, before = self.space.project(look - rate * self.space.combine(weights), radius), D
            # Nesterov's sequence of momenta; `look` is where the next gradient is taken.
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            look, momentum = D + (momentum - 1) / following * (D - before), following
            # The certified bound costs as much as a step, so it is asked for now and then.
            if step % 10 == 9 or step == steps - 1:
                margins = self.margin + self.space.margins(D)
                value = float(self.value(margins))
                if value < best:
                    best, best_D = value, D
                bound = max(bound, self.lower_bound(margins, self.shares(margins, sharpness), radius))
                if value > last:
                    momentum, look = 1.0, D
                last = value
        return Optimum(best_D, best, bound)
