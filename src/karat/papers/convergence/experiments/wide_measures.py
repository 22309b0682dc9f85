"""What training of one hidden layer changes, what weights of its ball could change, and the recursion."""

import math

import torch
from torch import Tensor

from karat.nets import TwoLayer
from karat.papers.convergence.experiments.perturbations import Watched
from karat.papers.convergence.experiments.worst_cases import changed_signs, changed_weight, non_convexity
from karat.training.surrogate import Sets


def changes(start: TwoLayer, end: TwoLayer, target: TwoLayer, x: Tensor) -> dict[str, float]:
    """Return what patterns and gradient did since the start, and what convexity misses towards the target.

    Args:
        start: before training.
        end: after it.
        target: the optimum that training is compared with.
        x: (N, d) inputs; the largest values over them are returned.
    """
    before, after, there = (net.preactivations(x) for net in (start, end, target))
    changed = ((before > 0) != (after > 0)).to(x.dtype)
    length = torch.linalg.vector_norm(x, dim=1)
    missed = [_missed(z, there, start.a).max() for z in (before, after)]
    return {
        "pattern_change": float(changed.mean(dim=1).max()),
        "gradient_change": float((length * (changed @ start.a.square()).sqrt()).max()),
        "non_convexity": float(max(missed)),
    }


def _missed(z: Tensor, there: Tensor, a: Tensor) -> Tensor:
    """By how much the net at other preactivations is off its tangent, in absolute value, (N,)."""
    # relu(z') - relu(z) - 1[z > 0] (z' - z) is |z'| where the sides differ, and 0 elsewhere.
    return ((there.abs() * ((there > 0) != (z > 0))) @ a).abs()


def worst_changes(start: TwoLayer, radius: float, x: Tensor) -> dict[str, float]:
    """Return the same over all nets of the ball, and over both signs of the loss's slope.

    Args:
        start: in the middle of the ball.
        radius: of the ball.
        x: (N, d) inputs.
    """
    z, length = start.preactivations(x), torch.linalg.vector_norm(x, dim=1)
    reach = radius * length
    both = [non_convexity(z, sign * start.a, reach).total.bound.max() for sign in (1, -1)]
    return {
        "ball_pattern_change": float(changed_signs(z, reach).max()) / start.m,
        "ball_gradient_change": float((length * changed_weight(z, start.a, reach).bound).max()),
        "ball_non_convexity": float(max(both)),
    }


class Recursion:
    r"""Watches a run: its losses before every update, and what the regret recursion misses.

    Args:
        target: :math:`W_*`.
        target_loss: :math:`L_*(W_*)`.
        lr: :math:`\alpha`.
        sets: the allowed points.
        pick: tells which of them a step used.
    """

    def __init__(self, target: TwoLayer, target_loss: float, lr: float, sets: Sets, pick: Watched) -> None:
        self.target, self.target_loss, self.lr = target, target_loss, lr
        self.sets, self.pick = sets, pick
        self.losses: list[float] = []
        self.excess = -math.inf
        self.end = target
        self._last: tuple[float, float] | None = None

    def __call__(self, step: int, net: TwoLayer, loss: float, gradient: float) -> None:
        r"""Called before every update.

        Args:
            step: :math:`t`.
            net: at :math:`W_t`.
            loss: :math:`L_A(W_t)`.
            gradient: :math:`\|\nabla L_A(W_t)\|^2`.
        """
        self.losses.append(loss)
        self.end = net
        distance = float((net.W - self.target.W).square().sum())
        if self._last is not None:
            before, allowed = self._last
            self.excess = max(self.excess, (distance - before) / (2 * self.lr) - allowed)
        x = self.sets.x[torch.arange(len(self.sets.y)), self.pick.chosen]
        missed = _missed(net.preactivations(x), self.target.preactivations(x), net.a)
        self._last = (distance, self.target_loss - loss + float(missed.mean()) + self.lr * gradient / 2)
