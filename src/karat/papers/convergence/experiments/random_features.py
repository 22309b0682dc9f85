r"""The finite sums of the proof for a function of known norm, certified on the circle.

A section :math:`g = K(x_1, \cdot)` has :math:`\|g\|_{RF} = \sup_z |\varphi'(z)| = 1`, so that the bounds say
something at widths that can be run; those of robust interpolants exceed the functions themselves.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.core.ranges import Count, Inside, Pairs, Positive, settings
from karat.core.smoothings import SmoothedRelu
from karat.core.tangent_kernel import gram, profile_of
from karat.nets import TwoLayer, init
from karat.papers.convergence.bounds import built_error_bound, finite_sum_bound
from karat.papers.convergence.experiments.activations import smoothed_relu_lipschitz
from karat.papers.convergence.experiments.built import Construction, build
from karat.probes.kernel_interpolation import KernelFunction
from karat.probes.movement import row_movement
from karat.study.experiment import Experiment, Preset

DIMENSION = 2
"""On the circle a thousand points come within a few thousandths of all others: suprema are certified."""

FACTORS = {"drawn": 1.0, "zero": 0.0, "minus": -1.0}
"""What the finite sum is multiplied with."""


@dataclass(frozen=True, kw_only=True)
@settings
class FeaturesConfig:
    """Settings of one draw of random features.

    Args:
        m: width of the net, twice the number of features.
        sigma: noise of the smoothed ReLU.
        points: of the circle on which functions are compared.
        p_fail: of the bounds.
        construction: of the net.
        features: "zero" replaces the finite sum by the zero function, "minus" by its negative.
    """

    m: Pairs
    sigma: Positive = 0.3
    points: Count = 400
    p_fail: Inside = 0.01
    construction: Construction = "corrected"
    features: Literal["drawn", "zero", "minus"] = "drawn"


@dataclass(frozen=True, kw_only=True)
class FeaturesResult:
    r"""How far the finite sum and the net are from the section g.

    Args:
        size: :math:`\sup |g|`, what the zero function would be off by.
        features_error: largest :math:`|g_3 - g|` at the points compared.
        features_certified: bound on it over the whole circle.
        features_bound: of Proposition C.1.
        net_error: largest :math:`|f - g|` at the points compared.
        net_certified: bound on it over the whole circle.
        net_bound: of equation (19), corrected.
        row_radius: :math:`\sqrt{m} \max_r \|w_r - w_{r0}\|`.
    """

    size: float
    features_error: float
    features_certified: float
    features_bound: float
    net_error: float
    net_certified: float
    net_bound: float
    row_radius: float


def run(config: FeaturesConfig, generator: torch.Generator) -> FeaturesResult:
    r"""Draw features for a section of the kernel, build the net, and compare both with the section.

    Reading: between points of the circle, at most h apart, both functions move by their Lipschitz constants.
        With :math:`c_i` as in the proof that of the finite sum is at most
        :math:`\sum_i \|c_i\| (1 + C \|w_i\|)`, also for the net, whose twins differ by
        :math:`\sqrt{m} \|c_i\|`; that of g is its norm in the kernel's space.

    Ref: convergence, Prop C.1; convergence, Eq 19
    """
    C = max(1.0, smoothed_relu_lipschitz(config.sigma))
    turns = 2 * math.pi * torch.arange(config.points, dtype=torch.float64) / config.points
    x = torch.stack([torch.cos(turns), torch.sin(turns)], dim=1)
    g = KernelFunction(SmoothedRelu(config.sigma), x[:1], torch.ones(1, dtype=torch.float64))
    start = _draw_start(config, generator)
    net, half = build(start, g, config.construction), config.m // 2
    c = FACTORS[config.features] * g.density(start.W[:half]) / half
    finite_sum = (start.activation.derivative(x @ start.W[:half].T) * (x @ c.T)).sum(dim=1)
    target, spacing = g(x), math.pi / config.points
    features_error, net_error = (float((f - target).abs().max()) for f in (finite_sum, net(x)))
    between = _between(g, spacing)
    twins = net.W[:half], net.W[half:]
    longer = torch.maximum(*(torch.linalg.vector_norm(rows, dim=1) for rows in twins))
    apart = torch.linalg.vector_norm(twins[0] - twins[1], dim=1) * net.scale
    lengths = torch.linalg.vector_norm(start.W[:half], dim=1)
    return FeaturesResult(
        size=float(target.abs().max()),
        features_error=features_error,
        features_certified=features_error + between + spacing * _slope(c.norm(dim=1), lengths, C),
        features_bound=finite_sum_bound(1.0, half, DIMENSION, C, config.p_fail),
        net_error=net_error,
        net_certified=net_error + between + spacing * _slope(apart, longer, C),
        net_bound=built_error_bound(1.0, config.m, DIMENSION, C, config.p_fail),
        row_radius=row_movement(net, start) * math.sqrt(config.m),
    )


def _draw_start(config: FeaturesConfig, generator: torch.Generator) -> TwoLayer:
    return init.paired(
        DIMENSION,
        config.m,
        generator=generator,
        sd_W=1.0,
        scale=1 / math.sqrt(config.m),
        activation=SmoothedRelu(config.sigma),
    )


def _slope(coefficients: Tensor, rows: Tensor, C: float) -> float:
    """Lipschitz constant of a finite sum on the circle, from lengths of its coefficients and rows."""
    return float((coefficients * (1 + C * rows)).sum())


def _between(g: KernelFunction, angle: float) -> float:
    """How far g can move over an angle: its norm times the distance of the points in the kernel's space."""
    near = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    K = gram(profile_of(g.activation), near)
    return g.norm * math.sqrt(max(0.0, float(K[0, 0] + K[1, 1] - 2 * K[0, 1])))


FEATURES = Experiment(
    name="convergence.features",
    title="How near do random features and the net built from them come to a function of known norm?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=FeaturesConfig(m=1000, points=300),
            grid={"m": (1000, 2000, 4000)},
            seeds=2,
            cell_seconds=0.05,
        ),
        "quick": Preset(
            config=FeaturesConfig(m=1000), grid={"m": (1000, 4000, 16_000)}, seeds=5, cell_seconds=0.3
        ),
        "full": Preset(
            config=FeaturesConfig(m=1000, points=4000),
            grid={"m": (1000, 4000, 16_000, 64_000)},
            seeds=10,
            cell_seconds=5,
        ),
    },
    run=run,
)
