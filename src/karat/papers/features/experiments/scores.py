"""Accuracy and hinge loss of outputs."""

from collections.abc import Callable

import torch
from torch import Tensor


def accuracy(f: Tensor, y: Tensor) -> float:
    """Share of points with sign(f) = y, reading sign(0) as +1: a net that is zero gives a constant answer."""
    return float(((f >= 0) == (y > 0)).double().mean())


def hinge(f: Tensor, y: Tensor) -> float:
    """Mean hinge loss."""
    return float((1 - y * f).clamp_min(0).double().mean())


def outputs(output: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Outputs in chunks."""
    return torch.cat([output(part) for part in x.split(8192)])
