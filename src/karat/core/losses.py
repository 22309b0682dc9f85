"""Losses as functions of the margin y f(x), with their derivatives."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Loss(Protocol):
    """A function of the margin and its derivative with respect to the margin."""

    def __call__(self, margin: Tensor) -> Tensor:
        """Loss of every sample."""
        ...

    def derivative(self, margin: Tensor) -> Tensor:
        """Derivative with respect to the margin, of every sample."""
        ...


@dataclass(frozen=True)
class Logistic:
    r""":math:`\log(1 + e^{-\text{margin}})`, finite and exact to rounding at any margin.

    >>> Logistic()(torch.tensor([-1e4, 0.0, 1e4], dtype=torch.float64)).tolist()
    [10000.0, 0.6931471805599453, 0.0]
    """

    def __call__(self, margin: Tensor) -> Tensor:
        """softplus(-margin), written so that neither end overflows."""
        return torch.logaddexp(-margin, torch.zeros_like(margin))

    def derivative(self, margin: Tensor) -> Tensor:
        """-1 / (1 + exp(margin))."""
        return -torch.sigmoid(-margin)


@dataclass(frozen=True)
class Hinge:
    r""":math:`\max(1 - \text{margin}, 0)`.

    Reading: the derivative at margin 1 is -1; features' indicator is y g <= 1.

    Ref: features, Eq 3
    """

    def __call__(self, margin: Tensor) -> Tensor:
        """Hinge of the margin."""
        # Not by `clamp_min`, whose derivative at the kink is -1 or 0, depending on the version of torch.
        return torch.where(margin > 1, 0.0, 1 - margin)

    def derivative(self, margin: Tensor) -> Tensor:
        """-1 where the margin is at most 1, else 0."""
        return -(margin <= 1).to(margin.dtype)


@dataclass(frozen=True)
class Squared:
    r""":math:`(1 - \text{margin})^2 / 2`, which is :math:`(f - y)^2 / 2` for labels +-1."""

    def __call__(self, margin: Tensor) -> Tensor:
        """Half the squared distance of the margin from 1."""
        return (1 - margin).square() / 2

    def derivative(self, margin: Tensor) -> Tensor:
        """margin - 1."""
        return margin - 1


@dataclass(frozen=True)
class ZeroOne:
    """1 if margin <= 0 else 0: a tie is an error.

    Ref: benign, Sec 2.1
    """

    def __call__(self, margin: Tensor) -> Tensor:
        """Indicator of an error; NaN margins stay NaN."""
        return torch.where(margin.isnan(), margin, (margin <= 0).to(margin.dtype))

    def derivative(self, margin: Tensor) -> Tensor:
        """Zero almost everywhere."""
        return torch.zeros_like(margin)


LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "hinge": Hinge,
    "squared": Squared,
    "zero_one": ZeroOne,
}
