"""Accuracy and hinge loss of outputs."""

from collections.abc import Callable

import torch
from torch import Tensor

CHUNK = 1024
"""Points per pass: their hidden layers stay in the cache, which halves the time of larger chunks."""


def accuracy(f: Tensor, y: Tensor) -> float:
    """Return the share of points with sign(f) = y, reading sign(0) as +1.

    A net that is zero everywhere then gives a constant answer, not an error on every point.

    Args:
        f: (n,) outputs.
        y: (n,) labels.
    """
    return float(((f >= 0) == (y > 0)).double().mean())


def hinge(f: Tensor, y: Tensor) -> float:
    r"""Return the mean hinge loss :math:`E \max(0, 1 - y f)`.

    Args:
        f: (n,) outputs.
        y: (n,) labels.
    """
    return float((1 - y * f).clamp_min(0).double().mean())


def outputs(output: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return the outputs on x, computed in chunks so that hidden layers of all points need no memory.

    Args:
        output: inputs (n, d) -> outputs, one row per input.
        x: (n, d).
    """
    return torch.cat([output(chunk) for chunk in x.split(CHUNK)])
