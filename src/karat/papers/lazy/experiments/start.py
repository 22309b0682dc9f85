"""The Gaussian start of the lazy regime, and a control whose rows do not grow with the dimension."""

import math
from typing import Literal

import torch

from karat.nets import TwoLayer, init

Rows = Literal["gaussian", "unit"]
"""Rows N(0, I_d) as the paper draws them, or divided by sqrt d: a control, whose gradients are of order 1."""


def draw_start(d: int, m: int, rows: Rows, *, generator: torch.Generator) -> TwoLayer:
    r"""Return the start :math:`W_0` in single precision.

    Args:
        d: input dimension.
        m: width.
        rows: "gaussian" has rows :math:`N(0, I_d)`, "unit" rows :math:`N(0, I_d/d)`.
        generator: of the draw.

    Ref: lazy, Def 2.1
    """
    net = init.gaussian(d, m, generator=generator, dtype=torch.float32)
    return net if rows == "gaussian" else net.replace(W=net.W / math.sqrt(d))
