"""A two-layer net of ReLU or leaky ReLU neurons, with the labels its margin is taken for."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from karat.core.activations import leaky_slope
from karat.nets.two_layer import TwoLayer


@dataclass(frozen=True, eq=False)
class Hinges:
    """margin(x) = sign * (offset + sum_s weight_s phi(<w_s, x> + bias_s)), phi(z) = max(z, slope z).

    Args:
        W: (m, d).
        bias, weight: (m,).
        offset: ().
        slope: of phi below zero.
        sign: (n,) labels +-1.
    """

    W: Tensor
    bias: Tensor
    weight: Tensor
    offset: Tensor
    slope: float
    sign: Tensor


def hinges(net: Any, sign: Tensor) -> Hinges | None:
    """The hinges of a `TwoLayer` with such an activation; None for any other net."""
    slope = leaky_slope(net.activation) if type(net) is TwoLayer else None  # a subclass may be another map
    if slope is None:
        return None
    bias = net.a.new_zeros(net.m) if net.b is None else net.b
    offset = net.a.new_zeros(()) if net.c is None else net.c
    return Hinges(net.W, bias, net.scale * net.a, offset, slope, sign)
