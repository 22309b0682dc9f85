"""The scalar function a neuron applies, cut into pieces that are linear, convex or concave."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.activations import (
    Activation,
    LeakyRelu,
    Quadratic,
    QuadraticRelu,
    Relu,
    SmoothedRelu,
    SmoothedTruncatedRelu,
    SmoothLeakyRelu,
    Softplus,
    TruncatedRelu,
)

Scalar = Callable[[Tensor], Tensor]
_BISECTIONS = 38
_KNOWN = (
    Relu,
    LeakyRelu,
    TruncatedRelu,
    SmoothLeakyRelu,
    QuadraticRelu,
    Quadratic,
    SmoothedRelu,
    Softplus,
    SmoothedTruncatedRelu,
)


@dataclass(frozen=True)
class Profile:
    """A scalar function psi with the shape of its graph.

    Args:
        value: psi.
        derivative: psi'.
        knots: increasing points at which a piece ends.
        curvatures: of the len(knots) + 1 pieces, +1 convex, -1 concave, 0 linear.
        steepness: smallest and largest psi' anywhere, infinite where there is none.
        jumps: of psi' at every knot, 0 where psi is smooth; only their signs are used.
        size: length added to |s| in the error bound of psi(s).
        inverse: solves psi'(s) = slope on a curved piece; None for bisection.

    Reading: certificates stay sound whatever `inverse` returns; only their tightness depends on it.
    """

    value: Scalar
    derivative: Scalar
    knots: tuple[float, ...]
    curvatures: tuple[int, ...]
    steepness: tuple[float, float]
    jumps: tuple[float, ...]
    size: float = 0.0
    inverse: Scalar | None = None

    @property
    def piecewise_linear(self) -> bool:
        """Whether every piece is linear."""
        return not any(self.curvatures)

    def pieces(self) -> list[tuple[float, float, int]]:
        """(left end, right end, curvature) of every piece, the outer ends infinite."""
        ends = (-math.inf, *self.knots, math.inf)
        return list(zip(ends[:-1], ends[1:], self.curvatures, strict=True))

    def point_of_derivative(self, slope: Tensor, low: Tensor, high: Tensor, curvature: int) -> Tensor:
        """The s in [low, high] with psi'(s) nearest to a given slope, on a piece of the given curvature.

        Args:
            slope: what psi' should be.
            low: lower ends of the intervals.
            high: upper ends.
            curvature: +1 or -1.
        """
        if self.inverse is not None:
            s = self.inverse(slope.clamp(*self.steepness))  # beyond the range of psi' an inverse may be NaN
            return torch.minimum(torch.maximum(s, low), high)
        low, high = low.clone(), high.clone()
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            right = curvature * (self.derivative(middle) - slope) < 0
            low, high = torch.where(right, middle, low), torch.where(right, high, middle)
        return (low + high) / 2


IDENTITY = Profile(lambda s: s, torch.ones_like, (), (0,), (1.0, 1.0), ())
"""The profile of a linear net."""


def profile_of(activation: Activation) -> Profile:
    """The profile of a karat activation.

    >>> profile_of(TruncatedRelu()).knots
    (0.0, 1.0)
    """
    if type(activation) not in _KNOWN:  # a subclass may be another function
        raise TypeError(f"no certificate knows the activation `{type(activation).__name__}`.")
    phi, slope = activation, activation.derivative
    if isinstance(phi, Relu | LeakyRelu):
        low = phi.slope if isinstance(phi, LeakyRelu) else 0.0
        return Profile(phi, slope, (0.0,), (0, 0), (low, 1.0), (1 - low,))
    if isinstance(phi, TruncatedRelu):
        return Profile(phi, slope, (0.0, 1.0), (0, 0, 0), (0.0, 1.0), (1.0, -1.0))
    if isinstance(phi, SmoothLeakyRelu):
        g, H = phi.slope, phi.smoothness
        bend = max((1 - g) * H, 1e-300)  # slope 1 is the identity up to a constant; any inverse will do
        inverse: Scalar = lambda t: (2 * t - 1 - g) / bend  # noqa: E731
        return Profile(phi, slope, (-1 / H, 1 / H), (0, 1, 0), (g, 1.0), (0.0, 0.0), 1 / H, inverse)
    if isinstance(phi, QuadraticRelu):
        return Profile(phi, slope, (0.0,), (0, 1), (0.0, math.inf), (0.0,), 0.0, lambda t: t / 2)
    if isinstance(phi, Quadratic):
        return Profile(phi, slope, (), (1,), (-math.inf, math.inf), (), 0.0, lambda t: t / 2)
    if isinstance(phi, SmoothedRelu):
        sigma = phi.sigma
        return Profile(phi, slope, (), (1,), (0.0, 1.0), (), sigma, lambda t: sigma * torch.special.ndtri(t))
    if isinstance(phi, Softplus):
        return Profile(phi, slope, (), (1,), (0.0, 1.0), (), 1.0, torch.special.logit)
    assert isinstance(phi, SmoothedTruncatedRelu)
    top = math.erf(0.5 / (phi.sigma * math.sqrt(2)))
    return Profile(phi, slope, (0.5,), (1, -1), (0.0, top), (0.0,), 1 + phi.sigma)


def odd_profile(activation: Activation, b: float) -> Profile:
    """psi(u) = phi(u + b) - phi(-u + b), one function per pair of neurons.

    For the ReLU and b < 0 this is the soft threshold: slope 0 on |u| < |b|, slope 1 outside. Smoothed, it is
    concave on u < 0 and convex on u > 0 (the other way round for b > 0), for psi'' has the sign of -b u.

    Args:
        activation: Relu or SmoothedRelu.
        b: the shared bias, added.

    Ref: purification, Sec 4
    """

    def value(u: Tensor) -> Tensor:
        return activation(u + b) - activation(b - u)

    def derivative(u: Tensor) -> Tensor:
        return activation.derivative(u + b) + activation.derivative(b - u)

    if type(activation) not in (Relu, SmoothedRelu):  # a subclass may be another function
        raise TypeError(f"no certificate knows the odd pair of `{type(activation).__name__}`.")
    if b == 0:  # phi(u) - phi(-u) = u for both
        return IDENTITY
    if isinstance(activation, Relu):
        inner = 2.0 if b > 0 else 0.0
        steepness = (min(inner, 1.0), max(inner, 1.0))
        jumps = (inner - 1, 1 - inner)
        return Profile(value, derivative, (-abs(b), abs(b)), (0, 0, 0), steepness, jumps, abs(b))
    assert isinstance(activation, SmoothedRelu)
    centre = 1 + math.erf(b / (activation.sigma * math.sqrt(2)))
    steepness = (min(centre, 1.0), max(centre, 1.0))
    side = -1 if b < 0 else 1
    return Profile(value, derivative, (0.0,), (side, -side), steepness, (0.0,), abs(b) + activation.sigma)
