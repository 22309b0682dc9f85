"""Which way projected gradient descent goes: on inner products, by changes of sign, or by gradients.

All ways take the same steps, up to rounding. The first two need a two-layer net that is known by its neurons,
and are faster than gradients once a problem is large enough.
"""

import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from karat.core.region import Region

if TYPE_CHECKING:
    from karat.attacks.pgd import PGD

Route = Literal["inner products", "signs", "gradients"]

# Below this many products (samples x neurons x coordinates x steps) gradients are over at once.
WORTH = 1e7


def route(method: "PGD", x: Tensor, ball: Region) -> Route:
    """The way that steps of this kind can go on a two-layer net.

    l2 steps from zero stay in the span of the weights, where inner products are all there is to know; l_inf
    steps stay the same until a neuron or a coordinate changes its sign. Everything else goes by gradients.

    Args:
        method: the steps.
        x: (n, ...) inputs.
        ball: the allowed perturbations.

    >>> from karat.attacks.pgd import PGD
    >>> from karat.core.ball import Ball
    >>> x = torch.zeros(3, 5)
    >>> [route(PGD(), x, Ball(p, 0.1)) for p in (1, 2, math.inf)]
    ['gradients', 'inner products', 'signs']
    """
    if x.dim() != 2 or x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return "gradients"
    if span_obstacle(method, ball) is None:
        return "inner products"
    by_signs = ball.p == math.inf and ball.box is None and method.gradient in ("steepest", "sign")
    return "signs" if by_signs and method.steps > 1 else "gradients"


def worthwhile(x: Tensor, neurons: int, steps: int) -> bool:
    """Whether the problem is so large that a way other than by gradients pays.

    Args:
        x: (n, d) inputs.
        neurons: hidden neurons of the net.
        steps: gradient steps of one run.
    """
    return x.numel() * neurons * steps >= WORTH


def span_obstacle(method: "PGD", ball: Region) -> str | None:
    """Why these steps leave the span of weights and data, or cannot be taken inside it; None if they can.

    Args:
        method: the steps.
        ball: the allowed perturbations.
    """
    if ball.p != 2:
        return f"an l_{ball.p:g} attack moves single coordinates, which leaves the span of weights and data"
    if ball.box is not None:
        return "clipping to a box leaves the span of weights and data"
    if ball.domain is not None:
        return f"keeping to {ball.domain} is not expressed in inner products"
    if method.random_start or method.restarts > 1:
        return "a random start leaves the span of weights and data"
    if method.start is not None:
        return "the attack starts from another attack"
    if method.gradient not in ("steepest", "normalised"):
        return f"the attack uses the {method.gradient} gradient, not the normalised one"
    return None
