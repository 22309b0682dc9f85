"""The support function of the ball: how much a linear form can grow inside it, from above."""

import math

import torch
from torch import Tensor

from karat.core.ball import Ball
from karat.core.norms import dual_exponent, norm


def support(g: Tensor, ball: Ball, x: Tensor | None = None) -> Tensor:
    r"""The largest :math:`\langle g, \delta\rangle` in the set, per row.

    A dual value, and so never below the truth but for rounding:

    .. math:: \text{ball:} &\quad \tau \|g\|_q \\
        p = 2 \text{ and box:} &\quad \min_{\mu > 0} \sum_j \max_{v \in \text{box}_j} (g_j v - \mu v^2/2)
        + \mu \tau^2/2 \\
        p = 1 \text{ and box:} &\quad \min_{\mu \ge 0} \sum_j \text{room}_j (|g_j| - \mu)_+ + \mu \tau \\
        p = \infty \text{ and box:} &\quad \sum_j \max(g_j\, \text{low}_j, g_j\, \text{high}_j)

    In the last line low and high are the ends of the interval that ball and box leave to a coordinate.

    Args:
        g: (N, d) linear forms.
        ball: its tau (N,) or a number.
        x: (N, d), needed with a box.
    """
    tau = ball.radius(g)
    plain = tau * norm(g, dual_exponent(ball.p))
    if ball.box is None:
        return plain
    assert x is not None
    low, high = ball.box[0] - x, ball.box[1] - x
    if ball.p == math.inf:
        low, high = torch.maximum(low, -tau.unsqueeze(1)), torch.minimum(high, tau.unsqueeze(1))
        return torch.maximum(g * low, g * high).sum(dim=1)
    size, room = g.abs(), torch.where(g > 0, high, -low)
    in_box = (size * room).sum(dim=1)
    point = ball.extreme_point(g, x).abs()
    if ball.p == 1:
        # The coordinate that takes the last of the budget sets the price mu.
        partly = (point > 0) & (point < room)
        mu = torch.where(partly, size, 0.0).amax(dim=1, keepdim=True)
        mu = torch.where(partly.any(dim=1, keepdim=True), mu, size.masked_fill(point > 0, 0.0).amax(1, True))
        dual = (room * (size - mu).clamp_min(0)).sum(dim=1) + mu.squeeze(1) * tau
    else:
        free = (size > 0) & (point > 0)
        scale = torch.where(free, point / torch.where(free, size, 1.0), 0.0).amax(dim=1, keepdim=True)
        mu = 1 / scale.clamp_min(1e-300)
        v = torch.minimum(size * scale, room)
        dual = (size * v - mu * v.square() / 2).sum(dim=1) + mu.squeeze(1) * tau.square() / 2
        dual = torch.where(scale.squeeze(1) > 0, dual, plain)
    return torch.minimum(torch.minimum(plain, in_box), dual)
