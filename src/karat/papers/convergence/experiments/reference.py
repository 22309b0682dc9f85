r"""The best robust loss near a start, by a convex problem: what training is compared with.

Near the start a net is almost linear in its weights. The linearised net has a convex robust loss

.. math::
    \min_{D \in B(R)} \frac{1}{n} \sum_i
    \max_k \ell\left(y_i f(W_0, x_{ik}) + \langle F_{ik}, D \rangle\right),
    \qquad F_{ik} = y_i \nabla_W f(W_0, x_{ik}),

whose minimum is enclosed between the loss of a displacement that was found and a certified lower bound.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.losses import Loss
from karat.nets import TwoLayer
from karat.nets.deep import Deep
from karat.papers.convergence.experiments.sets import PseudoHuber
from karat.training.displacements import Displacements, HilbertBall, kink_slack_unequal
from karat.training.linearised import LinearisedProblem, Optimum
from karat.training.surrogate import Sets


def allowed_points(sets: Sets) -> tuple[Tensor, Tensor]:
    """Return all allowed points in one list, with the label of each.

    Args:
        sets: K points for each of n samples.

    Returns:
        (n K, d) points and (n K,) labels.
    """
    n, K, d = sets.x.shape
    return sets.x.reshape(n * K, d), sets.y.repeat_interleave(K)


def best_robust_loss(net: TwoLayer | Deep, sets: Sets, space: Displacements, radius: float) -> Optimum:
    """Solve the convex problem above.

    Args:
        net: the start.
        sets: the allowed points of every sample.
        space: displacements of the start as `allowed_points(sets)` see them, and the shape of the ball.
        radius: of the ball.

    Reading: the paper's reference is a minimum over nets, which is no convex problem; that of the linearised
        net stands in for it. A net may do slightly better than its linearisation.
    """
    x, y = allowed_points(sets)
    return _solve(sets, space, y * net(x), PseudoHuber(), radius)


@dataclass(frozen=True, eq=False)
class Slackened:
    r"""The smallest loss of a margin that is only known up to a slack: convex in the middle of its interval.

    .. math:: \min_{-\text{down} \le e \le \text{up}} \ell(u + e)

    Args:
        up: (N,) by which each margin may be larger.
        down: (N,) by which it may be smaller.
    """

    up: Tensor
    down: Tensor

    def nearest(self, margin: Tensor) -> Tensor:
        """The number of each interval that is nearest to 1, where the loss is 0.

        Args:
            margin: (N,) margins.
        """
        return 1 - (1 - margin - self.up).clamp_min(0) + (margin - 1 - self.down).clamp_min(0)

    def __call__(self, margin: Tensor) -> Tensor:
        """Loss of every margin."""
        return PseudoHuber()(self.nearest(margin))

    def derivative(self, margin: Tensor) -> Tensor:
        """Derivative in the margin, 0 where the interval holds 1."""
        return PseudoHuber().derivative(self.nearest(margin))


def certified_robust_loss(net: TwoLayer, sets: Sets, space: HilbertBall, radius: float) -> float:
    """Return a bound below the robust loss of every net of the Frobenius ball, not of linearised ones only.

    Margins of a ReLU net differ from those of its linearisation by the slack of its kinks at most, to either
    side, and the smallest loss within that slack is convex again.

    Args:
        net: the start, with the ReLU.
        sets: the allowed points of every sample.
        space: displacements of the start as `allowed_points(sets)` see them.
        radius: of the ball.
    """
    x, y = allowed_points(sets)
    slack = Slackened(*(kink_slack_unequal(net, x, sign * y, radius) for sign in (1, -1)))
    return max(0.0, _solve(sets, space, y * net(x), slack, radius).bound)


def _solve(sets: Sets, space: Displacements, margin: Tensor, loss: Loss, radius: float) -> Optimum:
    n, K, _ = sets.x.shape
    sample = torch.arange(n).repeat_interleave(K)
    problem = LinearisedProblem(space=space, margin=margin, sample=sample, loss=loss)
    return problem.solve(radius, steps=800, sharpness=200.0)


def frobenius_displacement(
    net: TwoLayer, x: Tensor, y: Tensor, space: HilbertBall, D: Tensor, radius: float
) -> Tensor:
    r"""Return the weight matrix behind the coordinates of a displacement in the Frobenius ball.

    The solver knows the features through their Gram matrix only. An optimal displacement lies in their span,
    :math:`\sum_j c_j F_j`, and its coefficients solve :math:`\text{root}^\top c = D`.

    Args:
        net: the start.
        x: (N, d) points whose features span the displacements.
        y: (N,) their labels.
        space: the displacements as these points see them.
        D: coordinates in this space.
        radius: of the ball.

    Returns:
        (m, d).
    """
    # The features may be linearly dependent: of all solutions gelsd returns the smallest.
    solution = torch.linalg.lstsq(space.root.T, D.unsqueeze(1), driver="gelsd").solution
    coefficients = solution.squeeze(1).to(x.dtype)
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    moved = (coefficients.unsqueeze(1) * gates).T @ (y.unsqueeze(1) * x)
    # Rounding must not carry the net out of the ball.
    return moved * min(1.0, radius / max(float(torch.linalg.vector_norm(moved)), 1e-300))
