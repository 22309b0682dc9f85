"""An odd net that no permutation of its features changes: few coefficients instead of m d weights."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from karat.core.checks import require_number
from karat.core.compiled import Array
from karat.core.ranges import Count, NonNegative, Steps, checked
from karat.nets.odd_two_layer import OddTwoLayer
from karat.reductions.symmetric.kernels import Numbers, look, pull, slopes
from karat.reductions.symmetric.sparse_points import SparsePoints


@dataclass(frozen=True, eq=False)
class Look:
    """What one pass over some points finds.

    Args:
        points: that were looked at.
        f: (n,) outputs.
        gates: (C, listed) of the neurons of listed coordinates, class by class.
        rest_gate: (n, C) of the neurons of all other coordinates.
        hub_gate: (n, H) of the hubs.
    """

    points: SparsePoints
    f: Array
    gates: Array
    rest_gate: Array
    hub_gate: Array


@dataclass(frozen=True, kw_only=True)
@checked
class NeuronClass:
    """`copies` equal neurons for every feature.

    Args:
        alpha: their pure part.
        beta: their dense mixture, in every other feature.
        copies: neurons per feature.
    """

    alpha: float
    beta: float = 0.0
    copies: Count = 1

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            require_number(getattr(self, name), name, "NeuronClass")

    def length(self, d: int) -> float:
        """The norm of a neuron's weights.

        Args:
            d: number of features.
        """
        return math.hypot(self.alpha, math.sqrt(d - 1) * self.beta)


@dataclass(frozen=True, kw_only=True)
@checked
class SymmetricNet:
    r"""`copies` equal neurons per feature, further classes of them, and `hubs` that lean on all features.

    .. math:: w_{c,i} = \alpha_c\, w^*_i M_i + \beta_c \sum_{j \ne i} w^*_j M_j, \qquad
        w_{hub} = \gamma \sum_j w^*_j M_j

    Every permutation of the features maps the net to itself. Neurons of one feature may differ: each class
    has an alpha and a beta of its own.

    Args:
        d: number of features and of inputs.
        alpha: a neuron's pure part.
        beta: its dense mixture, in every other feature.
        gamma: a hub's coefficient in every feature.
        threshold: the paper's b, minus the bias of the net.
        sigma_rho: standard deviation of the neuron noise.
        copies: neurons per feature.
        hubs: neurons that hold no feature of their own.
        more: further classes of neurons.

    Ref: purification, Eq 5.1
    """

    d: Count
    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0
    threshold: NonNegative
    sigma_rho: NonNegative = 0.0
    copies: Count = 1
    hubs: Steps = 0
    more: tuple[NeuronClass, ...] = ()

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            require_number(getattr(self, name), name, "SymmetricNet")
        if self.d < 2:
            raise ValueError(f"`d` of `SymmetricNet` must be at least 2, got {self.d}.")

    @cached_property
    def classes(self) -> tuple[NeuronClass, ...]:
        """All classes of neurons that hold a feature, the first one included."""
        return (NeuronClass(alpha=self.alpha, beta=self.beta, copies=self.copies), *self.more)

    @property
    def m(self) -> int:
        """Number of pairs of neurons, as `OddTwoLayer.m`."""
        return sum(kind.copies for kind in self.classes) * self.d + self.hubs

    @property
    def coefficients(self) -> Array:
        """(2 C + 1,) alpha and beta, class after class, then gamma."""
        more = [number for kind in self.more for number in (kind.alpha, kind.beta)]
        return np.array([self.alpha, self.beta, *more, self.gamma])

    @property
    def coefficient_lengths(self) -> Array:
        """(2 C + 1,) the norm of the neuron that each coefficient belongs to."""
        more = [length for kind in self.more for length in [kind.length(self.d)] * 2]
        return np.array([self.length, self.length, *more, self.hub_length])

    def with_coefficients(self, coefficients: Array, **changes: Any) -> Self:
        """The same net with other coefficients.

        Args:
            coefficients: (2 C + 1,), in the order of `coefficients`.
            changes: of further fields.
        """
        alpha, beta, *rest, gamma = coefficients.tolist()
        pairs = zip(self.more, rest[::2], rest[1::2], strict=True)
        more = tuple(NeuronClass(alpha=a, beta=b, copies=kind.copies) for kind, a, b in pairs)
        return replace(self, alpha=alpha, beta=beta, gamma=gamma, more=more, **changes)

    @property
    def length(self) -> float:
        """The norm of the weights of a neuron of the first class."""
        return math.hypot(self.alpha, math.sqrt(self.d - 1) * self.beta)

    @property
    def hub_length(self) -> float:
        """The norm of a hub's weights."""
        return abs(self.gamma) * math.sqrt(self.d)

    @property
    def squared_norm(self) -> float:
        """Of all weights together."""
        neurons = sum(kind.copies * self.d * kind.length(self.d) ** 2 for kind in self.classes)
        return neurons + self.hubs * self.hub_length**2

    def moved_from(self, other: Self) -> float:
        r""":math:`\sum_i \|w_i - w_i'\|^2` to a net with as many neurons.

        Args:
            other: the net w'.
        """
        total = 0.0
        for mine, theirs in zip(self.classes, other.classes, strict=True):
            alpha, beta = mine.alpha - theirs.alpha, mine.beta - theirs.beta
            total += mine.copies * self.d * (alpha**2 + (self.d - 1) * beta**2)
        return total + self.hubs * self.d * (self.gamma - other.gamma) ** 2

    def replace(self, **changes: Any) -> Self:
        """The same net with some fields exchanged."""
        return replace(self, **changes)

    def look(self, points: SparsePoints) -> Look:
        """Outputs and gates on some points.

        Args:
            points: of the same dimension.
        """
        if points.d != self.d:
            raise ValueError(f"`points` must have d = {self.d} coordinates, got {points.d}.")
        n = len(points)
        count = 1 + len(self.more)
        seen = Look(
            points, np.empty(n), np.empty((count, len(points.values))), np.empty((n, count)), np.empty((n, 1))
        )
        look(
            points.values,
            points.offsets,
            points.rest,
            float(self.d),
            self.numbers,
            seen.f,
            seen.gates,
            seen.rest_gate,
            seen.hub_gate,
        )
        return seen

    def __call__(self, points: SparsePoints) -> Array:
        """Outputs (n,)."""
        return self.look(points).f

    def input_gradient(self, seen: Look) -> tuple[Array, Array]:
        """The gradient of f: its listed coordinates, and the one (n,) that all others share.

        Args:
            seen: what `look` returned.
        """
        slope, rest_slope = np.empty(len(seen.points.values)), np.empty(len(seen.f))
        slopes(
            seen.points.offsets,
            float(self.d),
            self.numbers,
            seen.gates,
            seen.rest_gate,
            seen.hub_gate,
            slope,
            rest_slope,
        )
        return slope, rest_slope

    def coefficient_gradient(self, seen: Look, residual: Array) -> Array:
        r"""(2 C + 1,) d times :math:`\sum_n r_n \nabla_w f(x_n)`, averaged over the symmetry group.

        Args:
            seen: what `look` returned.
            residual: (n,) weights of the points.
        """
        points, out = seen.points, np.empty(2 * len(seen.gates) + 1)
        pull(
            points.values,
            points.offsets,
            points.rest,
            float(self.d),
            residual,
            seen.gates,
            seen.rest_gate,
            seen.hub_gate,
            out,
        )
        return out

    def lift(self, M: Tensor, w_star: Tensor) -> OddTwoLayer:
        """The net in d dimensions: the neurons of every feature, class after class and copy after copy, then
        the hubs.

        Args:
            M: (d, d) orthonormal dictionary.
            w_star: (d,) signs.
        """
        features = (M * w_star).T.double()
        dense = features.sum(dim=0, keepdim=True)
        rows = [
            ((kind.alpha - kind.beta) * features + kind.beta * dense).repeat(kind.copies, 1)
            for kind in self.classes
        ]
        W = torch.cat([*rows, (self.gamma * dense).repeat(self.hubs, 1)])
        return OddTwoLayer(W, torch.tensor(-self.threshold, dtype=W.dtype), self.sigma_rho)

    @cached_property
    def numbers(self) -> Numbers:
        """The net as compiled code reads it."""
        return Numbers(
            np.array([self.threshold, self.sigma_rho]),
            np.array(
                [
                    [self.alpha, self.beta, float(self.copies)],
                    *([kind.alpha, kind.beta, float(kind.copies)] for kind in self.more),
                ]
            ),
            np.array([[self.gamma, float(self.hubs)]]),
        )


def require_one_class(net: SymmetricNet, what: str) -> None:
    """Refuse a net whose neurons of one feature differ.

    Args:
        net: to be looked at.
        what: in the plural, is written for one class of neurons only.
    """
    if net.more:
        raise ValueError(f"{what} are written for one class of neurons, got {len(net.classes)}.")
