"""The smallest step along the gradient that flips each prediction of a net, however wide the net is."""

from typing import NamedTuple

import torch
from torch import Tensor

from karat.attacks.gradient_step import gradient_crossing
from karat.nets import TwoLayer, as_classifier

ENTRIES = 4_000_000
"""Largest (points, m) table of one flip computation: a few such tables in float64 must fit beside the net."""


class SmallestFlips(NamedTuple):
    """The smallest steps along the gradient that flip predictions, in double precision.

    Args:
        length: (n,) of the perturbations, inf where no step flips.
        gradient: (n,) norms of the gradients.
        step: (n,) step sizes, length over gradient.
    """

    length: Tensor
    gradient: Tensor
    step: Tensor


def batches(net: TwoLayer, x: Tensor) -> tuple[Tensor, ...]:
    """Return the inputs in batches whose table of preactivations fits in memory.

    Args:
        net: of m neurons.
        x: (n, d) inputs.
    """
    return x.split(max(1, ENTRIES // net.m))


def smallest_flips(net: TwoLayer, x: Tensor) -> SmallestFlips:
    r"""Return the smallest :math:`\eta` with which :math:`x - \eta \, \mathrm{sign}(f) \nabla f(x)` flips f.

    Args:
        net: the classifier, whose own predictions are to flip, right or wrong.
        x: (n, d) inputs.
    """
    columns = []
    for batch in batches(net, x):
        # Towards the own prediction, not the label: a wrong sample has a flip, too.
        predicted = torch.where(net(batch) > 0, 1.0, -1.0)
        crossing = gradient_crossing(as_classifier(net), batch, predicted)
        columns.append(torch.stack([crossing.length, crossing.gradient_norm, crossing.step]))
    return SmallestFlips(*torch.cat(columns, dim=1).double())
