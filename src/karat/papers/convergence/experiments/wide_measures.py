"""What training of one hidden layer changes at given inputs, and what weights of its ball could change."""

import torch
from torch import Tensor

from karat.nets import TwoLayer
from karat.papers.convergence.experiments.worst_cases import changed_signs, changed_weight, non_convexity


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
    missed = [
        # relu(z') - relu(z) - 1[z > 0] (z' - z) is |z'| where the sides differ, and 0 elsewhere.
        ((there.abs() * ((there > 0) != (z > 0))) @ start.a).abs().max()
        for z in (before, after)
    ]
    return {
        "pattern_change": float(changed.mean(dim=1).max()),
        "gradient_change": float((length * (changed @ start.a.square()).sqrt()).max()),
        "non_convexity": float(max(missed)),
    }


def worst_changes(start: TwoLayer, radius: float, x: Tensor) -> dict[str, float]:
    """Return the same over all nets of the ball, and over both signs of the loss's slope.

    Args:
        start: in the middle of the ball.
        radius: of the ball.
        x: (N, d) inputs.
    """
    z, length = start.preactivations(x), torch.linalg.vector_norm(x, dim=1)
    reach = radius * length
    both = [non_convexity(z, sign * start.a, reach).bound.max() for sign in (1, -1)]
    return {
        "ball_pattern_change": float(changed_signs(z, reach).max()) / start.m,
        "ball_gradient_change": float((length * changed_weight(z, start.a, reach).bound).max()),
        "ball_non_convexity": float(max(both)),
    }
