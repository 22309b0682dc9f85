"""How far a net has moved from its start: its weights in several norms, and its activation patterns."""

import torch
from torch import Tensor

from karat.core.norms import two_inf_norm
from karat.nets.deep import Deep
from karat.nets.two_layer import TwoLayer


def relative_movement(W: Tensor, start: Tensor) -> float:
    r"""Squared distance over squared length, :math:`\sum_i \|w_i - w_{i0}\|^2 / \sum_i \|w_{i0}\|^2`.

    Ref: purification, Thm 5.3(c)
    """
    return float((W - start).square().sum() / start.square().sum())


def relative_movement_along(W: Tensor, start: Tensor, v: Tensor) -> float:
    """The part of `relative_movement` along one direction.

    Args:
        W: (m, d) weights.
        start: (m, d) weights before.
        v: (d,) direction of any length.
    """
    unit = v.to(W) / torch.linalg.vector_norm(v.to(W))
    return float(((W - start) @ unit).square().sum() / start.square().sum())


def row_movement(net: TwoLayer, start: TwoLayer) -> float:
    r"""The largest movement of a neuron, :math:`\max_s \|w_s - w_{s0}\|_2`."""
    return float(two_inf_norm(net.W - start.W))


def frobenius_movement(net: TwoLayer | Deep, start: TwoLayer | Deep) -> float:
    r""":math:`\|W - W_0\|_F`; for a deep net the largest over its trained layers."""
    if isinstance(net, Deep) and isinstance(start, Deep):
        pairs = zip(net.layers, start.layers, strict=True)
        return max(float(torch.linalg.vector_norm(new - old)) for new, old in pairs)
    assert isinstance(net, TwoLayer)
    assert isinstance(start, TwoLayer)
    return float(torch.linalg.vector_norm(net.W - start.W))


def pattern_change(net: TwoLayer | Deep, start: TwoLayer | Deep, x: Tensor) -> float:
    """Share of (sample, neuron) pairs whose preactivation changed sign, over all hidden layers.

    Args:
        net: after training.
        start: before.
        x: (n, d) inputs.

    Ref: convergence, Eq 10
    """
    now, before = _signs(net, x), _signs(start, x)
    return float((now != before).double().mean())


def _signs(net: TwoLayer | Deep, x: Tensor) -> Tensor:
    if isinstance(net, Deep):
        return torch.stack([z > 0 for z in net.hidden(x)[0]])
    return net.preactivations(x) > 0
