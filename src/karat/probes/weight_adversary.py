"""The worst net of a (2, inf) ball: adversaries over the weights of a two-layer ReLU net at one input."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.gradient_step import gradient_crossing
from karat.core.checks import require_integer, require_number, require_shape
from karat.nets.module import as_classifier
from karat.nets.two_layer import TwoLayer


@dataclass(frozen=True, eq=False)
class WorstNet:
    """The worst net that was found for one input x.

    Args:
        net: of the ball.
        length: of the step along the gradient at x that flips its prediction; inf if none does.
        value: f(x).
        gradient: length of its gradient at x.
    """

    net: TwoLayer
    length: float
    value: float
    gradient: float


@torch.no_grad()
def longest_flip(net: TwoLayer, x: Tensor, weight_radius: float, *, steps: int = 20) -> WorstNet:
    r"""Maximise the smallest gradient step that flips f(x) over all nets of the (2, inf) ball.

    With t the first zero on the ray :math:`p = x - t u`, :math:`u = \nabla f(x) / \|\nabla f(x)\|`, implicit
    differentiation gives the direction in which every row lengthens t; a row then moves towards the edge of
    its ball in that direction (Frank-Wolfe). Both signs of the prediction are tried.

    Args:
        net: the centre of the ball, with the ReLU.
        x: (d,) one input.
        weight_radius: of the ball around each row.
        steps: of each ascent.

    Returns:
        the longest step met: a lower bound on the supremum over the ball.

    Ref: lazy, Thm 3.1
    """
    require_shape(x, "x", (net.d,))
    require_number(weight_radius, "weight_radius", "longest_flip", minimum=0)
    require_integer(steps, "steps", "longest_flip", minimum=1)
    worst_nets = [_ascend(net, x.unsqueeze(0), y, weight_radius, steps) for y in (1.0, -1.0)]
    return max(worst_nets, key=lambda worst: worst.length)


def _ascend(start: TwoLayer, x: Tensor, sign: float, radius: float, steps: int) -> WorstNet:
    """Frank-Wolfe ascent among nets that give x (1, d) this sign."""
    y = x.new_full((1,), sign)
    push = start.scale * sign * start.a
    # The first move raises the margin: every row along +-x.
    W = start.W + radius * torch.outer(push.sign(), x[0] / torch.linalg.vector_norm(x))
    best = WorstNet(start, 0.0, 0.0, math.nan)
    for step in range(steps):
        net = start.replace(W=W)
        crossing = gradient_crossing(as_classifier(net), x, y)
        length, gradient = float(crossing.length), float(crossing.gradient_norm)
        if length > best.length:
            best = WorstNet(net, length, float(net(x)), gradient)
        if length == 0 or math.isinf(length):
            break
        # The derivative of t in W, up to a positive factor: W acts on the value at p directly, and through
        # the gradient at x, whose change turns the ray; `across` is what a turn changes at p.
        margin_gradient = sign * net.input_gradient(x)[0]
        u = margin_gradient / gradient
        p = x[0] - length * u
        pull = sign * net.input_gradient(p.unsqueeze(0))[0]
        across = (pull - (pull @ u) * u) * (length / gradient)
        at_x, at_p = (W @ x[0] > 0).to(x.dtype), (W @ p > 0).to(x.dtype)
        G = torch.outer(push * at_p, p) - torch.outer(push * at_x, across)
        size = torch.linalg.vector_norm(G, dim=1, keepdim=True)
        edge = start.W + radius * G / torch.where(size > 0, size, 1.0)
        share = 2 / (step + 3)
        W = torch.where(size > 0, (1 - share) * W + share * edge, W)
    return best


@torch.no_grad()
def smallest_gradient(net: TwoLayer, x: Tensor, weight_radius: float, *, rounds: int = 12) -> float:
    r"""Minimise :math:`\|\nabla_x f(x)\|` over the ball: rows turn, neurons near their kink switch.

    Every round answers the present gradient with the best rows within a share of the radius, the share found
    by search; the smallest norm met is an upper bound on the infimum.

    Args:
        net: the centre of the ball, with the ReLU.
        x: (d,) one input.
        weight_radius: of the ball around each row.
        rounds: answers that are tried.

    Ref: lazy, Lem 4.2
    """
    require_shape(x, "x", (net.d,))
    best, W = math.inf, net.W
    push = net.scale * net.a
    z, unit = net.W @ x, x / torch.linalg.vector_norm(x)
    reach = weight_radius * float(torch.linalg.vector_norm(x))
    direction = torch.zeros_like(x)
    for _ in range(rounds):
        gradient = (push * (W @ x > 0)) @ W
        size = float(torch.linalg.vector_norm(gradient))
        best = min(best, size)
        if size == 0:
            break
        direction += gradient / size
        u = direction / torch.linalg.vector_norm(direction)
        helpful = push * (net.W @ u)  # what an active neuron adds along u
        candidates = []
        for share in (0.25, 0.5, 0.75, 1.0):
            near = z.abs() < share * reach
            switch = near & torch.where(z > 0, helpful > 0, helpful < 0)
            turned = net.W - share * weight_radius * torch.outer(push.sign(), u)
            # A neuron that turns must not switch by accident: keep its preactivation's sign where it can.
            keeps_sign = (((turned @ x) > 0) == (z > 0)).unsqueeze(1)
            moved = torch.where(keeps_sign, turned, net.W)
            switched = net.W - torch.outer((z + 1e-6 * z.sign()) / torch.linalg.vector_norm(x), unit)
            moved = torch.where(switch.unsqueeze(1), switched, moved)
            answer = (push * (moved @ x > 0)) @ moved
            candidates.append((float(torch.linalg.vector_norm(answer)), moved))
        size, W = min(candidates, key=lambda pair: pair[0])
        best = min(best, size)
    return best


@torch.no_grad()
def worst_subset(rows: Tensor, *, rounds: int = 60) -> float:
    r"""Maximise :math:`\|\sum_{s \in S} \text{row}_s\|` over all subsets S of the rows.

    Alternates between the subset and the direction of its sum. Starts from the sum of all rows, from its
    opposite, and from the leading singular directions; each alternation can only grow, so the best local
    maximum is a lower bound on the maximum.

    Args:
        rows: (k, d), one vector per neuron that can switch.
        rounds: of alternation from each start.

    Ref: lazy, Eq 7
    """
    require_shape(rows, "rows", (None, None))
    if len(rows) == 0:
        return 0.0
    total = rows.sum(dim=0)
    leading = torch.linalg.eigh(rows.T @ rows).eigenvectors[:, -2:].T
    best = 0.0
    for first in (total, -total, *leading, *-leading):
        u = first
        for _ in range(rounds):
            chosen = (rows @ u > 0).to(rows.dtype) @ rows
            size = float(torch.linalg.vector_norm(chosen))
            if size <= best * (1 - 1e-12) and torch.equal(u, chosen):
                break
            best, u = max(best, size), chosen
    return best
