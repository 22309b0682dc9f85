"""Keep the weights near their start: projections to (2, inf) and Frobenius balls."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from karat.core.checks import require_number
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
class TwoInfBall:
    """Every neuron within weight_radius of its start: max_s |w_s - w_s0|_2 <= weight_radius.

    Symbols: weight_radius is V = C0/sqrt m of lazy, which already contains 1/sqrt m.

    Ref: lazy, Def 2.1
    """

    centre: Tensor
    weight_radius: float

    def __post_init__(self) -> None:
        require_number(self.weight_radius, "weight_radius", "TwoInfBall", minimum=0)

    def __call__(self, net: Any) -> Any:
        """Shrink each neuron's displacement radially."""
        W = parameter(net, "W", "TwoInfBall")
        return net.replace(W=_shrink(W, self.centre, self.weight_radius, dim=1))


@dataclass(frozen=True, eq=False)
class FrobeniusBall:
    """Every named matrix within weight_radius of its start in Frobenius norm.

    Symbols: weight_radius is R for convergence's two-layer net and R/sqrt m per layer for its deep net.

    Ref: convergence, Thm 4.1; convergence, Thm 5.1
    """

    centres: dict[str, Tensor]
    weight_radius: float

    def __post_init__(self) -> None:
        require_number(self.weight_radius, "weight_radius", "FrobeniusBall", minimum=0)

    def __call__(self, net: Any) -> Any:
        """Shrink each matrix's displacement radially."""
        moved = {
            name: _shrink(parameter(net, name, "FrobeniusBall"), centre, self.weight_radius, dim=None)
            for name, centre in self.centres.items()
        }
        return net.replace(**moved)


def frobenius_ball(net: Net, weight_radius: float, names: tuple[str, ...]) -> FrobeniusBall:
    """The ball around a net's present matrices."""
    return FrobeniusBall({name: parameter(net, name, "FrobeniusBall") for name in names}, weight_radius)
