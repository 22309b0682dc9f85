"""A net's margin along rays, written as a sum of neurons of one variable."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.core.activations import Activation, Relu
from karat.nets.linear import Linear
from karat.nets.odd_two_layer import OddTwoLayer
from karat.nets.two_layer import TwoLayer


@dataclass(frozen=True, eq=False)
class Line:
    """The margin on the rays x + t direction: sign * (offset + sum_s weight_s phi(start_s + t slope_s)).

    Args:
        start, slope: (n, m) preactivations at t = 0 and their derivatives.
        weight: (m,).
        offset: ().
        sign: (n,) labels +-1.
        activation: phi.
    """

    start: Tensor
    slope: Tensor
    weight: Tensor
    offset: Tensor
    sign: Tensor
    activation: Activation


def line(net: Any, x: Tensor, direction: Tensor, sign: Tensor) -> Line | None:
    """The line of a net with one hidden layer; None for any other.

    A subclass of a net counts as any other: it may be another function.

    Reading: a pair of `OddTwoLayer` is two neurons of weights +1 and -1; a linear net is relu(z) - relu(-z).

    Args:
        x, direction: (n, d).
        sign: (n,) labels +-1 in the dtype of x.
    """
    if type(net) is TwoLayer:
        offset = x.new_zeros(()) if net.c is None else net.c
        start, slope = net.preactivations(x), direction @ net.W.T
        return Line(start, slope, net.scale * net.a, offset, sign, net.activation)
    if type(net) is OddTwoLayer:
        u, v, one = net.projections(x), net.projections(direction), x.new_ones(net.m)
        start, slope = torch.cat([net.b + u, net.b - u], dim=1), torch.cat([v, -v], dim=1)
        return Line(start, slope, torch.cat([one, -one]), x.new_zeros(()), sign, net.activation)
    if type(net) is Linear:
        f, v = net(x), direction @ net.w
        start, slope = torch.stack([f, -f], dim=1), torch.stack([v, -v], dim=1)
        return Line(start, slope, x.new_tensor([1.0, -1.0]), x.new_zeros(()), sign, Relu())
    return None
