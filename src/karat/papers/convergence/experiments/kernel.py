"""The tangent kernel: closed forms, robust interpolation on caps, and which degrees it holds."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.cap import Cap
from karat.core.ranges import Count, Steps, settings
from karat.core.tangent_kernel import degree_weights, empirical_gram, gram, profile_of
from karat.papers.convergence.experiments.activations import ActivationName, activation_of
from karat.papers.convergence.experiments.sets import CapRadius, draw_centres
from karat.probes.kernel_interpolation import KernelFunction, interpolant
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class KernelConfig:
    r"""Settings of one data set on the sphere.

    Args:
        activation: whose tangent kernel it is.
        d: dimension.
        n: caps.
        tau: radius of the caps, as a chord.
        cover: points per cap that are interpolated besides the centre.
        fresh: points per cap on which the supremum is measured.
        draws: of the Monte-Carlo kernel.
        antipodes: "no", or n/2 pairs x, -x with "same" or "opposite" labels.
        lift: map x to :math:`[x, 1]/\sqrt{2}` first.
    """

    activation: ActivationName
    d: Annotated[int, Ge(3)] = 3
    n: Annotated[int, Ge(2)] = 8
    tau: CapRadius = 0.2
    cover: Steps = 40
    fresh: Count = 200
    draws: Count = 100_000
    antipodes: Literal["no", "same", "opposite"] = "no"
    lift: bool = False


@dataclass(frozen=True, kw_only=True)
class KernelResult:
    r"""What one data set shows.

    Args:
        supremum: largest :math:`|f(x) - y|` on fresh points of the caps.
        robust_error: share of caps in which some fresh point is misclassified.
        norm: of the interpolant, in the kernel's space.
        kernel_error: largest deviation of the closed form from Monte-Carlo, times the root of the draws.
        kernel_size: largest entry of the kernel matrix.
        degrees: eigenvalue of the kernel for every degree from 0 on.
        even_weight: sum of the eigenvalues of even degrees from 4 on.
        odd_weight: sum of the eigenvalues of odd degrees from 5 on.
    """

    supremum: float
    robust_error: float
    norm: float
    kernel_error: float
    kernel_size: float
    degrees: list[float]
    even_weight: float
    odd_weight: float


def run(config: KernelConfig, generator: torch.Generator) -> KernelResult:
    r"""Interpolate the labels on covered caps, and see how far the function strays at fresh points.

    The kernel's closed form is compared with the mean over `draws` weights of

    .. math:: K(x, x') = \langle x, x' \rangle \, E_w[\varphi'(\langle w, x \rangle)
        \varphi'(\langle w, x' \rangle)], \qquad w \sim N(0, I).

    Ref: convergence, Asm 5.2; convergence, Def 5.1
    """
    function, y, fresh = _robust_interpolant(config, generator)
    values = function(fresh.reshape(-1, fresh.shape[-1])).reshape(len(y), -1)
    x = fresh[:, 0]
    activation = activation_of(config.activation)
    W = torch.randn(config.draws, x.shape[1], generator=generator, dtype=torch.float64)
    closed_form = gram(profile_of(activation), x)
    error = (empirical_gram(W, activation, x) - closed_form).abs().max()
    weights = degree_weights(profile_of(activation), config.d, 9)
    return KernelResult(
        supremum=float((values - y.unsqueeze(1)).abs().max()),
        robust_error=float((y.unsqueeze(1) * values <= 0).any(dim=1).double().mean()),
        norm=function.norm,
        kernel_error=float(error) * math.sqrt(config.draws),
        kernel_size=float(closed_form.abs().max()),
        degrees=weights,
        # Low degrees are there for every activation: parity shows beyond them only.
        even_weight=sum(abs(weight) for weight in weights[4::2]),
        odd_weight=sum(abs(weight) for weight in weights[5::2]),
    )


def cap_points(centres: Tensor, count: int, tau: float, generator: torch.Generator) -> Tensor:
    """Draw uniform points of every cap.

    Args:
        centres: (n, d) of the caps.
        count: points per cap.
        tau: radius of the caps, as a chord.
        generator: of the points.

    Returns:
        (n, count, d).
    """
    repeated = centres.repeat_interleave(count, dim=0)
    moved = repeated + Cap(tau).sample(repeated, generator=generator)
    return moved.reshape(len(centres), count, -1)


def _robust_interpolant(
    config: KernelConfig, generator: torch.Generator
) -> tuple[KernelFunction, Tensor, Tensor]:
    """Interpolate centres and cover points; the function, the labels, and fresh points (n, fresh, d)."""
    centres, y = _labelled_centres(config, generator)
    known = centres.unsqueeze(1)
    if config.cover:
        known = torch.cat([known, cap_points(centres, config.cover, config.tau, generator)], dim=1)
    fresh = cap_points(centres, config.fresh, config.tau, generator)
    if config.lift:
        known, fresh = _lifted(known), _lifted(fresh)
    x = known.reshape(-1, known.shape[-1])
    function = interpolant(activation_of(config.activation), x, y.repeat_interleave(known.shape[1]))
    return function, y, fresh


def _labelled_centres(config: KernelConfig, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Centres and labels; antipodal pairs share or oppose their labels."""
    if config.antipodes == "no":
        return draw_centres(config.n, config.d, config.tau, generator)
    half, y = draw_centres(config.n // 2, config.d, config.tau, generator)
    other = y if config.antipodes == "same" else -y
    return torch.cat([half, -half]), torch.cat([y, other])


def _lifted(x: Tensor) -> Tensor:
    r"""The points :math:`[x, 1]/\sqrt{2}`, again of length 1: on this half of the sphere none are antipodal.

    Ref: convergence, Fn 14
    """
    return torch.cat([x, torch.ones(*x.shape[:-1], 1, dtype=x.dtype)], dim=-1) / math.sqrt(2)


KERNEL = Experiment(
    name="convergence.kernel",
    title="Does the tangent kernel's space hold robust interpolants, and do the closed forms hold?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=KernelConfig(activation="relu", n=4, fresh=50, draws=20_000),
            points=({"cover": 0}, {"cover": 20}, {"activation": "softplus", "cover": 20}),
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=KernelConfig(activation="relu", fresh=120),
            grid={"activation": ("relu", "smoothed_relu", "quadratic_relu"), "cover": (0, 20, 80, 240)},
            seeds=4,
            cell_seconds=0.2,
        ),
        "full": Preset(
            config=KernelConfig(activation="relu", fresh=1000, draws=1_000_000),
            grid={
                "activation": ("relu", "smoothed_relu", "softplus", "smooth_leaky_relu", "quadratic_relu"),
                "cover": (0, 40, 150, 400),
                "d": (3, 4, 5, 6),
            },
            seeds=5,
            cell_seconds=20,
        ),
    },
    run=run,
)

_PARITY = KernelConfig(activation="relu", cover=40, draws=10_000)

PARITY = Experiment(
    name="convergence.parity",
    title="Which antipodal labels can each kernel fit: does the quadratic ReLU hold even functions or odd?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(_PARITY, n=4, cover=10, fresh=40),
            grid={"activation": ("relu", "quadratic_relu"), "antipodes": ("same", "opposite")},
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=_PARITY,
            grid={
                "activation": ("relu", "quadratic_relu"),
                "antipodes": ("same", "opposite"),
                "lift": (False, True),
            },
            seeds=3,
            cell_seconds=0.05,
        ),
        "full": Preset(
            config=replace(_PARITY, cover=150, fresh=1000),
            grid={
                "activation": ("relu", "quadratic_relu"),
                "antipodes": ("same", "opposite"),
                "lift": (False, True),
                "d": (3, 5),
            },
            seeds=10,
            cell_seconds=3,
        ),
    },
    run=run,
)
