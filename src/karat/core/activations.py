"""Activations of the five papers with their derivatives; the Gaussian smoothings live in `smoothings`."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from karat.core.ranges import Positive, Share, checked
from karat.core.smoothings import SmoothedRelu as SmoothedRelu
from karat.core.smoothings import SmoothedTruncatedRelu as SmoothedTruncatedRelu


class Activation(Protocol):
    """A scalar function applied to every entry, its derivative, and where that derivative jumps."""

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points where the derivative jumps."""
        ...

    @property
    def piecewise_linear(self) -> bool:
        """Whether the function is linear between its kinks."""
        ...

    def __call__(self, z: Tensor) -> Tensor:
        """Value at every entry."""
        ...

    def derivative(self, z: Tensor) -> Tensor:
        """Derivative at every entry; at a kink the value that autograd returns."""
        ...


@dataclass(frozen=True)
class Relu:
    r""":math:`\max(z, 0)`. Reading: the derivative at 0 is 0."""

    kinks: ClassVar[tuple[float, ...]] = (0.0,)
    piecewise_linear: ClassVar[bool] = True

    def __call__(self, z: Tensor) -> Tensor:
        """max(z, 0); not `clamp_min`, whose autograd derivative at 0 is 1."""
        return torch.relu(z)

    def derivative(self, z: Tensor) -> Tensor:
        """1 where z > 0."""
        return (z > 0).to(z.dtype)


@dataclass(frozen=True)
@checked
class LeakyRelu:
    r""":math:`\max(z, \gamma z)`: z for z > 0 and slope * z otherwise.

    Args:
        slope: derivative below zero, between 0 and 1.

    Symbols: slope is gamma in benign.
    """

    slope: Share
    kinks: ClassVar[tuple[float, ...]] = (0.0,)
    piecewise_linear: ClassVar[bool] = True

    def __call__(self, z: Tensor) -> Tensor:
        """max(z, slope * z)."""
        return torch.where(z > 0, z, self.slope * z)

    def derivative(self, z: Tensor) -> Tensor:
        """1 where z > 0, slope elsewhere."""
        return torch.full_like(z, self.slope).masked_fill(z > 0, 1)


@dataclass(frozen=True)
@checked
class SmoothLeakyRelu:
    r"""Leaky ReLU with its corner replaced by a parabola on :math:`|z| \le 1/H`.

    .. math:: \phi(z) = \begin{cases} z - q & z \ge 1/H \\
        \tfrac{1-\gamma}{4} H z^2 + \tfrac{1+\gamma}{2} z & |z| \le 1/H \\
        \gamma z - q & z \le -1/H \end{cases}, \qquad q = \frac{1-\gamma}{4H}

    Args:
        slope: derivative far below zero.
        smoothness: bound on the second derivative, up to a factor.

    Symbols: slope is gamma, smoothness is H.

    Ref: benign, Eq 1
    """

    slope: Share
    smoothness: Positive
    kinks: ClassVar[tuple[float, ...]] = ()
    piecewise_linear: ClassVar[bool] = False

    def __call__(self, z: Tensor) -> Tensor:
        """Three pieces that meet with equal value and slope."""
        g, H = self.slope, self.smoothness
        inner = (1 - g) / 4 * H * z.square() + (1 + g) / 2 * z
        outer = torch.where(z > 0, z, g * z) - (1 - g) / (4 * H)
        return torch.where(z.abs() <= 1 / H, inner, outer)

    def derivative(self, z: Tensor) -> Tensor:
        """From slope to 1, linearly across the parabola."""
        g, H = self.slope, self.smoothness
        return (1 + g) / 2 + (1 - g) / 2 * (H * z).clamp(-1, 1)


@dataclass(frozen=True)
class TruncatedRelu:
    r""":math:`\min(1, \max(z, 0))`. Reading: the derivative is 1 on 0 < z < 1 and 0 at both ends.

    Ref: features, Eq 2
    """

    kinks: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    piecewise_linear: ClassVar[bool] = True

    def __call__(self, z: Tensor) -> Tensor:
        """Clamp to [0, 1]; not `clamp`, whose autograd derivative is 1 at both ends."""
        return torch.nn.functional.hardtanh(z, 0.0, 1.0)

    def derivative(self, z: Tensor) -> Tensor:
        """1 strictly between 0 and 1."""
        return ((z > 0) & (z < 1)).to(z.dtype)


@dataclass(frozen=True)
class QuadraticRelu:
    r""":math:`\max(z, 0)^2`.

    Ref: convergence, App C.2
    """

    kinks: ClassVar[tuple[float, ...]] = ()
    piecewise_linear: ClassVar[bool] = False

    def __call__(self, z: Tensor) -> Tensor:
        """Square of the positive part."""
        return z.clamp_min(0).square()

    def derivative(self, z: Tensor) -> Tensor:
        """Twice the positive part."""
        return 2 * z.clamp_min(0)


@dataclass(frozen=True)
class Quadratic:
    r""":math:`z^2`.

    Ref: features, Sec E.5
    """

    kinks: ClassVar[tuple[float, ...]] = ()
    piecewise_linear: ClassVar[bool] = False

    def __call__(self, z: Tensor) -> Tensor:
        """z squared."""
        return z.square()

    def derivative(self, z: Tensor) -> Tensor:
        """2 z."""
        return 2 * z


@dataclass(frozen=True)
class Softplus:
    r""":math:`\log(1 + e^{z + s})`, whose derivative is Lipschitz, as the two-layer theorem asks.

    Args:
        shift: s.

    Ref: convergence, Asm 5.1
    """

    shift: float = 0.0
    kinks: ClassVar[tuple[float, ...]] = ()
    piecewise_linear: ClassVar[bool] = False

    def __call__(self, z: Tensor) -> Tensor:
        """Stable at both ends."""
        return torch.logaddexp(z + self.shift, torch.zeros_like(z))

    def derivative(self, z: Tensor) -> Tensor:
        """The logistic function."""
        return torch.sigmoid(z + self.shift)


ACTIVATIONS: dict[str, type[Activation]] = {
    "relu": Relu,
    "leaky_relu": LeakyRelu,
    "smooth_leaky_relu": SmoothLeakyRelu,
    "truncated_relu": TruncatedRelu,
    "quadratic_relu": QuadraticRelu,
    "quadratic": Quadratic,
    "smoothed_relu": SmoothedRelu,
    "smoothed_truncated_relu": SmoothedTruncatedRelu,
    "softplus": Softplus,
}


def leaky_slope(activation: Activation) -> float | None:
    """Slope on the negative side of an activation whose only kink is at 0; None for all others."""
    if type(activation) is Relu:
        return 0.0
    return activation.slope if type(activation) is LeakyRelu else None
