"""How far a net has moved from its start: weights in both norms, and activation patterns."""

import torch
from torch import Tensor

from karat.core.norms import two_inf_norm
from karat.nets.deep import Deep
from karat.nets.two_layer import TwoLayer


def row_movement(net: TwoLayer, start: TwoLayer) -> float:
    """max_s |w_s - w_s0|_2."""
    return float(two_inf_norm(net.W - start.W))


def frobenius_movement(net: TwoLayer | Deep, start: TwoLayer | Deep) -> float:
    """|W - W0|_F; for a deep net the largest over its trained layers."""
    if isinstance(net, Deep) and isinstance(start, Deep):
        pairs = zip(net.layers, start.layers, strict=True)
        return max(float(torch.linalg.vector_norm(new - old)) for new, old in pairs)
    assert isinstance(net, TwoLayer)
    assert isinstance(start, TwoLayer)
    return float(torch.linalg.vector_norm(net.W - start.W))


def pattern_change(net: TwoLayer | Deep, start: TwoLayer | Deep, x: Tensor) -> float:
    """Share of (sample, neuron) pairs whose preactivation changed sign, over all hidden layers.

    Ref: convergence, Eq 10
    """
    now, before = _signs(net, x), _signs(start, x)
    return float((now != before).double().mean())


def _signs(net: TwoLayer | Deep, x: Tensor) -> Tensor:
    if isinstance(net, Deep):
        return torch.stack([z > 0 for z in net.hidden(x)[0]])
    return net.preactivations(x) > 0
