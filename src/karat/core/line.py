"""A net with one hidden layer along a ray: what a classifier may offer so that rays are searched exactly."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from karat.core.activations import Activation


@dataclass(frozen=True, eq=False)
class Line:
    r"""The margin on the rays :math:`x + t v` as a function of the scalar :math:`t`, neuron by neuron.

    .. math:: \text{margin}(t) = y \Big( \text{offset} + \sum_s \text{weight}_s\,
        \phi(\text{start}_s + t\,\text{speed}_s) \Big)

    For :math:`f(x) = \text{scale} \sum_s a_s \phi(\langle w_s, x\rangle + b_s) + c` these are
    :math:`\text{start} = W x + b`, :math:`\text{speed} = W v`, :math:`\text{weight} = \text{scale}\, a` and
    :math:`\text{offset} = c`.

    Args:
        start: (n, m) preactivations at t = 0.
        speed: (n, m) their derivatives in t.
        weight: (m,) output weights with every scaling inside.
        offset: () or (n,) output offset.
        sign: (n,) labels +-1, the y above.
        activation: phi.
    """

    start: Tensor
    speed: Tensor
    weight: Tensor
    offset: Tensor
    sign: Tensor
    activation: Activation

    def margin(self, t: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """Margins of the samples `rows` at their positions t, in float64."""
        start, speed = self.start[rows].double(), self.speed[rows].double()
        z = torch.addcmul(start, speed, t.double().unsqueeze(1))
        offset = self.offset.double().expand(len(self.start))[rows]
        return self.sign[rows].double() * (offset + self.activation(z) @ self.weight.double())


@runtime_checkable
class HasLine(Protocol):
    """A classifier that may know its hidden layer along a ray."""

    def line(self, x: Tensor, direction: Tensor, y: Tensor) -> Line | None:
        """The margin on the rays x + t direction; None where the classifier does not know it.

        Args:
            x: (n, ...) samples.
            direction: (n, ...) directions of their rays.
            y: (n,) labels.
        """
        ...
