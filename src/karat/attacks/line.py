"""A two-layer net seen along a ray: what a classifier may offer so that the ray is searched exactly."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from karat.core.activations import Activation


class LineProfile(Protocol):
    """The margin on the ray x + t direction, as a function of the scalar t.

        margin(t) = sign * (offset + sum_s weight_s phi(start_s + t slope_s))

    For f(x) = scale sum_s a_s phi(<w_s, x> + b_s) + c: start = W x + b, slope = W direction,
    weight = scale a, offset = c, sign = y, activation = phi.
    """

    @property
    def start(self) -> Tensor:
        """Preactivations at t = 0, (n, m)."""
        ...

    @property
    def slope(self) -> Tensor:
        """Their derivatives in t, (n, m)."""
        ...

    @property
    def weight(self) -> Tensor:
        """Output weights with every scaling inside, (m,)."""
        ...

    @property
    def offset(self) -> Tensor:
        """Output offset, () or (n,)."""
        ...

    @property
    def sign(self) -> Tensor:
        """Labels +-1, (n,)."""
        ...

    @property
    def activation(self) -> Activation:
        """The activation phi."""
        ...


@runtime_checkable
class HasLine(Protocol):
    """A classifier that knows its hidden layer along a ray; None when it does not for this net."""

    def line(self, x: Tensor, direction: Tensor, y: Tensor) -> LineProfile | None:
        """Profile of the margin on x + t direction; x and direction share their shape (n, ...)."""
        ...


def profile_margin(profile: LineProfile, t: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
    """Margins of the samples `rows` at their positions t, in float64."""
    start, slope = profile.start[rows].double(), profile.slope[rows].double()
    z = torch.addcmul(start, slope, t.double().unsqueeze(1))
    offset = profile.offset.double().expand(len(profile.start))[rows]
    return profile.sign[rows].double() * (offset + profile.activation(z) @ profile.weight.double())
