"""Penalties on the weights, as value and gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from karat.core.checks import require_number
from karat.core.ranges import NonNegative, checked
from karat.nets.net import Net, Parameters, parameter


class Regulariser(Protocol):
    """A function of the parameters and its gradient."""

    def value(self, net: Net) -> Tensor:
        """The penalty, a scalar."""
        ...

    def gradient(self, net: Net) -> Parameters:
        """Its gradient, for the parameters it touches."""
        ...


@dataclass(frozen=True)
class SquaredNorms:
    r"""Squared norms of named parameters, each with its own decay.

    .. math:: \sum_\theta \lambda_\theta \|\theta\|^2, \qquad \text{gradient } 2 \lambda_\theta \theta

    Symbols: the decay is lambda_w for "W" and lambda_a for "a" in features, which has no factor 1/2; usual
        weight decay :math:`\frac{\lambda}{2} \|W\|^2` is decay = lambda / 2.

    Args:
        decays: name of a parameter -> its decay.

    Ref: features, Eq 4
    """

    decays: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.decays:
            raise ValueError("`decays` of `SquaredNorms` must name at least one parameter.")
        for name, decay in self.decays.items():
            require_number(decay, name, "SquaredNorms", minimum=0)

    def value(self, net: Net) -> Tensor:
        """The weighted sum of squares."""
        terms = [decay * self._of(net, name).square().sum() for name, decay in self.decays.items()]
        return torch.stack(terms).sum()

    def gradient(self, net: Net) -> Parameters:
        r""":math:`2 \lambda_\theta \theta` of the named parameters."""
        return {name: 2 * decay * self._of(net, name) for name, decay in self.decays.items()}

    def _of(self, net: Net, name: str) -> Tensor:
        return parameter(net, name, "SquaredNorms")


@dataclass(frozen=True)
@checked
class CubicNorms:
    r"""Squared and cubed lengths of the neurons.

    .. math:: \lambda \sum_i \big( \tfrac12 \|w_i\|_2^2 + \tfrac13 \|w_i\|_2^3 \big), \qquad
              \text{gradient } \lambda (1 + \|w_i\|_2)\, w_i

    Symbols: decay is lambda.

    Args:
        decay: factor of the whole penalty.

    Reading: the regulariser prints a cubed l3 norm; its gradient everywhere else in the paper is that of the
        cubed l2 norm, which is used here.

    Ref: purification, Sec 4
    """

    decay: NonNegative

    def value(self, net: Net) -> Tensor:
        """Sum over neurons."""
        length = torch.linalg.vector_norm(parameter(net, "W", "CubicNorms"), dim=1)
        return self.decay * (length.square() / 2 + length.pow(3) / 3).sum()

    def gradient(self, net: Net) -> Parameters:
        """Of the hidden weights only."""
        W = parameter(net, "W", "CubicNorms")
        length = torch.linalg.vector_norm(W, dim=1, keepdim=True)
        return {"W": self.decay * (1 + length) * W}
