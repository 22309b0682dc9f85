"""Keep the weights near their start: projections to (2, inf) and Frobenius balls."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from karat.core.ranges import NonNegative, checked
from karat.nets.net import Net, parameter


class Projection(Protocol):
    """A map from a net to the nearest net of an allowed set."""

    def __call__(self, net: Any) -> Any:
        """The projected net."""
        ...


def _shrink(W: Tensor, centre: Tensor, weight_radius: float, dim: int | None) -> Tensor:
    """Pull W back to the centre's ball along the straight line; inside, leave it untouched."""
    displacement = W - centre
    length = torch.linalg.vector_norm(displacement, dim=dim, keepdim=True)
    outside = length > weight_radius
    if not bool(outside.any()):
        return W
    # In place: for wide nets every further copy of the weights counts.
    displacement.mul_(weight_radius / length.where(outside, 1.0)).add_(centre)
    return torch.where(outside, displacement, W)


@dataclass(frozen=True, eq=False)
@checked
class TwoInfBall:
    r"""Every neuron stays near its start: :math:`\max_s \|w_s - w_{s0}\|_2 \le V`.

    Symbols: weight_radius is :math:`V = C_0 / \sqrt m` of lazy, which already contains 1/sqrt m.

    Args:
        centre: (m, d) weights at the start.
        weight_radius: V.

    Ref: lazy, Def 2.1
    """

    centre: Tensor
    weight_radius: NonNegative

    def __call__(self, net: Any) -> Any:
        """Shrink each neuron's displacement radially."""
        W = parameter(net, "W", "TwoInfBall")
        return net.replace(W=_shrink(W, self.centre, self.weight_radius, dim=1))


@dataclass(frozen=True, eq=False)
@checked
class FrobeniusBall:
    r"""Every named matrix stays near its start in Frobenius norm.

    Symbols: weight_radius is R for convergence's two-layer net and :math:`R / \sqrt m` per layer for its deep
        net.

    Args:
        centres: name -> matrix at the start.
        weight_radius: of each matrix's ball.

    Ref: convergence, Thm 4.1; convergence, Thm 5.1
    """

    centres: dict[str, Tensor]
    weight_radius: NonNegative

    def __call__(self, net: Any) -> Any:
        """Shrink each matrix's displacement radially."""
        moved = {
            name: _shrink(parameter(net, name, "FrobeniusBall"), centre, self.weight_radius, dim=None)
            for name, centre in self.centres.items()
        }
        return net.replace(**moved)


def frobenius_ball(net: Net, weight_radius: float, names: tuple[str, ...]) -> FrobeniusBall:
    """The ball around a net's present matrices.

    Args:
        net: at the centre.
        weight_radius: of each matrix's ball.
        names: of the matrices.
    """
    return FrobeniusBall({name: parameter(net, name, "FrobeniusBall") for name in names}, weight_radius)
