"""A two-layer net of hinges: what a classifier may offer so that l_inf steps are taken by changes of sign."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Hinges:
    r"""A net whose neurons are straight on either side of zero, with the labels its margin is taken for.

    .. math:: \text{margin}(x) = y \Big( \text{offset} + \sum_s \text{weight}_s\,
        \phi(\langle w_s, x\rangle + \text{bias}_s) \Big), \qquad \phi(z) = \max(z, \text{slope}\, z)

    Args:
        W: (m, d) hidden weights.
        bias: (m,) hidden biases.
        weight: (m,) output weights with every scaling inside.
        offset: () output offset.
        slope: of phi below zero, between 0 and 1.
        sign: (n,) labels +-1, the y above.
    """

    W: Tensor
    bias: Tensor
    weight: Tensor
    offset: Tensor
    slope: float
    sign: Tensor


@runtime_checkable
class HasHinges(Protocol):
    """A classifier that may know its net as hinges."""

    def hinges(self, x: Tensor, y: Tensor) -> Hinges | None:
        """The net by its neurons, with the labels of the samples x; None where the classifier is no such."""
        ...
