"""Nets with one hidden layer, told neuron by neuron: along rays, and as hinges.

A subclass of a net counts as unknown here: it may be another function.
"""

from typing import Any

import torch
from torch import Tensor

from karat.core.activations import Relu, leaky_slope
from karat.core.hinges import Hinges
from karat.core.line import Line
from karat.nets.linear import Linear
from karat.nets.odd_two_layer import OddTwoLayer
from karat.nets.two_layer import TwoLayer


def line_of(net: Any, x: Tensor, direction: Tensor, sign: Tensor) -> Line | None:
    """The line of a net with one hidden layer; None for any other.

    Reading: a pair of `OddTwoLayer` is two neurons of weights +1 and -1; a linear net is relu(z) - relu(-z).

    Args:
        net: any net.
        x: (n, d) samples.
        direction: (n, d) directions of their rays.
        sign: (n,) labels +-1 in the dtype of x.
    """
    if type(net) is TwoLayer:
        offset = x.new_zeros(()) if net.c is None else net.c
        start, speed = net.preactivations(x), direction @ net.W.T
        return Line(start, speed, net.scale * net.a, offset, sign, net.activation)
    if type(net) is OddTwoLayer:
        u, v, one = net.projections(x), net.projections(direction), x.new_ones(net.m)
        start, speed = torch.cat([net.b + u, net.b - u], dim=1), torch.cat([v, -v], dim=1)
        return Line(start, speed, torch.cat([one, -one]), x.new_zeros(()), sign, net.activation)
    if type(net) is Linear:
        f, v = net(x), direction @ net.w
        start, speed = torch.stack([f, -f], dim=1), torch.stack([v, -v], dim=1)
        return Line(start, speed, x.new_tensor([1.0, -1.0]), x.new_zeros(()), sign, Relu())
    return None


def hinges_of(net: Any, sign: Tensor) -> Hinges | None:
    """The hinges of a `TwoLayer` with a ReLU or leaky ReLU; None for any other net.

    Args:
        net: any net.
        sign: (n,) labels +-1.
    """
    slope = leaky_slope(net.activation) if type(net) is TwoLayer else None
    if slope is None:
        return None
    bias = net.a.new_zeros(net.m) if net.b is None else net.b
    offset = net.a.new_zeros(()) if net.c is None else net.c
    return Hinges(net.W, bias, net.scale * net.a, offset, slope, sign)
