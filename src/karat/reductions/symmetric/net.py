"""An odd net that no permutation of its features changes: three coefficients instead of m d weights."""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from karat.core.checks import require_number
from karat.core.compiled import Array
from karat.core.ranges import Count, NonNegative, Steps, checked
from karat.nets.odd_two_layer import OddTwoLayer
from karat.reductions.symmetric.kernels import look, pull, slopes
from karat.reductions.symmetric.sparse_points import SparsePoints


@dataclass(frozen=True, eq=False)
class Look:
    """What one pass over some points finds.

    Args:
        points: that were looked at.
        f: (n,) outputs.
        gates: of the neurons of listed coordinates.
        rest_gate: (n,) of the neurons of all other coordinates.
        hub_gate: (n,) of the hubs.
    """

    points: SparsePoints
    f: Array
    gates: Array
    rest_gate: Array
    hub_gate: Array


@dataclass(frozen=True, kw_only=True)
@checked
class SymmetricNet:
    r"""`copies` equal neurons per feature, and `hubs` equal neurons that lean on all features alike.

    .. math:: w_i = \alpha\, w^*_i M_i + \beta \sum_{j \ne i} w^*_j M_j, \qquad
        w_{hub} = \gamma \sum_j w^*_j M_j

    Every permutation of the features maps the net to itself, and these are all such nets with so many
    neurons of either kind.

    Args:
        d: number of features and of inputs.
        alpha: a neuron's pure part.
        beta: its dense mixture, in every other feature.
        gamma: a hub's coefficient in every feature.
        threshold: the paper's b, minus the bias of the net.
        sigma_rho: standard deviation of the neuron noise.
        copies: neurons per feature.
        hubs: neurons that hold no feature of their own.

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

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            require_number(getattr(self, name), name, "SymmetricNet")
        if self.d < 2:
            raise ValueError(f"`d` of `SymmetricNet` must be at least 2, got {self.d}.")

    @property
    def m(self) -> int:
        """Number of pairs of neurons, as `OddTwoLayer.m`."""
        return self.copies * self.d + self.hubs

    @property
    def length(self) -> float:
        """The norm of a neuron's weights."""
        return math.hypot(self.alpha, math.sqrt(self.d - 1) * self.beta)

    @property
    def hub_length(self) -> float:
        """The norm of a hub's weights."""
        return abs(self.gamma) * math.sqrt(self.d)

    @property
    def squared_norm(self) -> float:
        """Of all weights together."""
        return self.copies * self.d * self.length**2 + self.hubs * self.hub_length**2

    def moved_from(self, other: Self) -> float:
        r""":math:`\sum_i \|w_i - w_i'\|^2` to a net with as many neurons.

        Args:
            other: the net w'.
        """
        alpha, beta, gamma = self.alpha - other.alpha, self.beta - other.beta, self.gamma - other.gamma
        return self.copies * self.d * (alpha**2 + (self.d - 1) * beta**2) + self.hubs * self.d * gamma**2

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
        seen = Look(points, np.empty(n), np.empty(len(points.values)), np.empty(n), np.empty(n))
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
        slope, rest_slope = np.empty(len(seen.gates)), np.empty(len(seen.f))
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
        r"""(3,) d times :math:`\sum_n r_n \nabla_w f(x_n)`, averaged over the symmetry group.

        Args:
            seen: what `look` returned.
            residual: (n,) weights of the points.
        """
        points, out = seen.points, np.empty(3)
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
        """The net in d dimensions: the neurons of every feature, copy after copy, then the hubs.

        Args:
            M: (d, d) orthonormal dictionary.
            w_star: (d,) signs.
        """
        features = (M * w_star).T.double()
        dense = features.sum(dim=0, keepdim=True)
        rows = (self.alpha - self.beta) * features + self.beta * dense
        W = torch.cat([rows.repeat(self.copies, 1), (self.gamma * dense).repeat(self.hubs, 1)])
        return OddTwoLayer(W, torch.tensor(-self.threshold, dtype=W.dtype), self.sigma_rho)

    @property
    def numbers(self) -> Array:
        """The net as compiled code reads it."""
        return np.array(
            [self.alpha, self.beta, self.gamma, self.threshold, self.sigma_rho, self.copies, self.hubs]
        )
