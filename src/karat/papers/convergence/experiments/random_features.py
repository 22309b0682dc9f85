r"""The finite sums of the proof for a function of known norm, on the whole sphere.

A section :math:`g = K(x_1, \cdot)` has :math:`\|g\|_{RF} = \sup_z |\varphi'(z)| = 1`, so that the bounds say
something at widths that can be run; those of robust interpolants exceed the functions themselves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Inside, Pairs, settings
from karat.core.smoothings import SmoothedRelu
from karat.nets import TwoLayer, init
from karat.papers.convergence.bounds import built_error_bound, finite_sum_bound
from karat.papers.convergence.experiments.activations import SMOOTHING, smoothed_relu_lipschitz
from karat.papers.convergence.experiments.built import Construction, build
from karat.papers.convergence.experiments.lattice import cap_lattice, lattice_spacing
from karat.papers.convergence.experiments.robust_function import fourth_derivative
from karat.probes.kernel_interpolation import KernelFunction
from karat.probes.movement import row_movement
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined

FACTORS = {"drawn": 1.0, "zero": 0.0, "minus": -1.0}
"""What the finite sum is multiplied with."""

PART = 2000
"""Points whose hidden layer is computed at a time."""

Value = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Points (n, d) -> values (n,) and gradients (n, d)."""

_ONLY_3D = Undefined("infinite unless d = 3: the sphere is covered in three dimensions only")


@dataclass(frozen=True, kw_only=True)
@settings
class FeaturesConfig:
    """Settings of some draws of random features; the activation is the smoothed ReLU.

    Args:
        m: width of the net, twice the number of features.
        d: dimension.
        draws: independent ones.
        rings: of the lattice that covers the sphere in three dimensions.
        starts: of the search for the largest distance in others.
        p_fail: of the bounds.
        construction: of the net.
        features: "zero" replaces the finite sum by the zero function, "minus" by its negative.
    """

    m: Pairs
    d: Annotated[int, Ge(3)] = 3
    draws: Count = 1
    rings: Count = 16
    starts: Count = 16
    p_fail: Inside = 0.05
    construction: Construction = "corrected"
    features: Literal["drawn", "zero", "minus"] = "drawn"


@dataclass(frozen=True, kw_only=True)
class FeaturesResult:
    r"""How far the finite sum and the net are from the section g, one entry a draw.

    Args:
        size: :math:`\sup |g|`, what the zero function is off by.
        features_error: largest :math:`|g_3 - g|` found.
        features_certified: bound on it over the whole sphere.
        features_bound: of Proposition C.1.
        net_error: largest :math:`|f - g|` found.
        net_certified: bound on it over the whole sphere.
        net_bound: of equation (19), corrected.
        row_radius: :math:`\sqrt{m} \max_r \|w_r - w_{r0}\|`, the largest of all draws.
    """

    size: float
    features_error: list[float]
    features_certified: Annotated[list[float], _ONLY_3D]
    features_bound: float
    net_error: list[float]
    net_certified: Annotated[list[float], _ONLY_3D]
    net_bound: float
    row_radius: float


def run(config: FeaturesConfig, generator: torch.Generator) -> FeaturesResult:
    r"""Draw features for a section of the kernel, build the net, and compare both with the section.

    Reading: C, which bounds :math:`|\varphi'|` and is a Lipschitz constant of it, is 1 here.

    Ref: convergence, Prop C.1; convergence, Eq 19
    """
    C = max(1.0, smoothed_relu_lipschitz(SMOOTHING))
    g = KernelFunction(
        SmoothedRelu(SMOOTHING), torch.eye(1, config.d, dtype=torch.float64), torch.ones(1).double()
    )
    features, nets, radii = [], [], []
    for _ in range(config.draws):
        start = _draw_start(config, generator)
        net, half = build(start, g, config.construction), config.m // 2
        W, c = start.W[:half], FACTORS[config.features] * g.density(start.W[:half]) / half
        twins = net.W[:half], net.W[half:]
        longer = torch.maximum(*(torch.linalg.vector_norm(rows, dim=1) for rows in twins))
        apart = torch.linalg.vector_norm(twins[0] - twins[1], dim=1) * net.scale
        bend = _bend(torch.linalg.vector_norm(c, dim=1), torch.linalg.vector_norm(W, dim=1))
        features.append(_distance(config, finite_sum(W, c), bend, g, generator))
        nets.append(_distance(config, net.value_and_input_gradient, _bend(apart, longer), g, generator))
        radii.append(row_movement(net, start) * math.sqrt(config.m))
    return FeaturesResult(
        size=float(g(g.points)),
        features_error=[found for found, _ in features],
        features_certified=[certified for _, certified in features],
        features_bound=finite_sum_bound(1.0, config.m // 2, config.d, C, config.p_fail),
        net_error=[found for found, _ in nets],
        net_certified=[certified for _, certified in nets],
        net_bound=built_error_bound(1.0, config.m, config.d, C, config.p_fail),
        row_radius=max(radii),
    )


def _draw_start(config: FeaturesConfig, generator: torch.Generator) -> TwoLayer:
    return init.paired(
        config.d,
        config.m,
        generator=generator,
        sd_W=1.0,
        scale=1 / math.sqrt(config.m),
        activation=SmoothedRelu(SMOOTHING),
    )


def finite_sum(W: Tensor, c: Tensor) -> Value:
    r"""Return :math:`g_3(x) = \sum_i \langle c_i, x \rangle \varphi'(\langle w_i, x \rangle)` with gradient.

    Args:
        W: (M, d) rows drawn.
        c: (M, d) coefficients.
    """

    def value_and_gradient(x: Tensor) -> tuple[Tensor, Tensor]:
        z, along = x @ W.T, x @ c.T
        gates = SmoothedRelu(SMOOTHING).derivative(z)
        # The second derivative of the activation is the density of its noise.
        density = torch.exp(-((z / SMOOTHING) ** 2) / 2) * smoothed_relu_lipschitz(SMOOTHING)
        return (gates * along).sum(dim=1), gates @ c + (density * along) @ W

    return value_and_gradient


def _distance(
    config: FeaturesConfig, function: Value, bend: float, g: KernelFunction, generator: torch.Generator
) -> tuple[float, float]:
    r"""The largest :math:`|f - g|` found on the sphere, and a bound on it; infinite unless d = 3.

    Within the angle h of a point of the lattice :math:`e = f - g` obeys
    :math:`|e| \le |e(x)| + h |\nabla e(x)| + \tfrac{h^2}{2} \sup |(e \circ \gamma)''|` along geodesics.
    """
    if config.d != 3:
        return _search(config, function, g, generator), math.inf
    error, gradient = _error(function, g, cap_lattice(g.points[0], 2.0, config.rings))
    angle = lattice_spacing(2.0, config.rings)
    steep = error.abs() + angle * torch.linalg.vector_norm(gradient, dim=1)
    bend += g.norm * math.sqrt(fourth_derivative(SMOOTHING))
    return float(error.abs().max()), float(steep.max()) + bend * angle**2 / 2


def _error(function: Value, g: KernelFunction, x: Tensor) -> tuple[Tensor, Tensor]:
    """f - g at points of the sphere, and its gradient along the sphere."""
    # In parts: the hidden layer of a whole lattice would not fit into memory.
    values, gradients = zip(*map(function, x.split(PART)), strict=True)
    gradient = torch.cat(gradients) - g.gradient(x)
    return torch.cat(values) - g(x), gradient - (gradient * x).sum(dim=1, keepdim=True) * x


def _search(config: FeaturesConfig, function: Value, g: KernelFunction, generator: torch.Generator) -> float:
    """The largest distance that ascent on the sphere finds, from random starts and both ends of the "
    "section."""
    x = torch.randn(config.starts, config.d, generator=generator, dtype=torch.float64)
    x = torch.cat([x / torch.linalg.vector_norm(x, dim=1, keepdim=True), g.points, -g.points])
    largest = 0.0
    for step in range(15):
        error, gradient = _error(function, g, x)
        largest = max(largest, float(error.abs().max()))
        length = torch.linalg.vector_norm(gradient, dim=1, keepdim=True).clamp_min(1e-300)
        x = x + 0.5 * 0.8**step * error.sign().unsqueeze(1) * gradient / length
        x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return largest


def _bend(coefficients: Tensor, rows: Tensor) -> float:
    r"""A bound on the second derivative of a finite sum along geodesics of the sphere.

    .. math:: \sum_i \|c_i\| \left(1 + 3 C \|w_i\| + C_2 \|w_i\|^2\right),

    with C and :math:`C_2` bounds on the second and third derivative of the activation. It serves nets of
    twins as well, with the distances of the twins for :math:`\|c_i\|` and the longer of their rows.
    """
    C = smoothed_relu_lipschitz(SMOOTHING)
    C2 = math.exp(-0.5) / (SMOOTHING**2 * math.sqrt(2 * math.pi))
    return float((coefficients * (1 + 3 * C * rows + C2 * rows.square())).sum())


_BASE = FeaturesConfig(m=1000)

FEATURES = Experiment(
    name="convergence.features",
    title="How near do random features and the net built from them come to a function of known norm?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=_BASE,
            points=({"draws": 3}, {"m": 4000}, {"d": 10, "starts": 4}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=_BASE,
            points=(
                {"draws": 15},
                {"m": 4000, "rings": 20},
                *({"m": 4000, "d": d} for d in (10, 30)),
            ),
            seeds=5,
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=replace(_BASE, p_fail=0.01),
            points=(
                {"draws": 100},
                *({"m": m, "rings": 64} for m in (4000, 16_000)),
                *({"m": m, "d": d, "starts": 100} for m in (4000, 16_000, 64_000) for d in (10, 30)),
            ),
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
)
