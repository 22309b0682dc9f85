"""The tangent kernel: closed forms, robust interpolation on caps, and which degrees it holds."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.cap import Cap
from karat.core.ranges import Count, NonNegative, Steps, settings
from karat.core.tangent_kernel import degree_weights, empirical_gram, gram, profile_of
from karat.papers.convergence.experiments.activations import ActivationName, activation_of
from karat.papers.convergence.experiments.lattice import cap_lattice, lattice_spacing
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
        ridge: of the interpolant, which trades accuracy for norm.
        rings: of the lattice on every cap that certifies the supremum, 0 for no certificate.
        closed_form: the activation whose closed form is compared with Monte-Carlo, None for the own one.
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
    ridge: NonNegative = 1e-10
    rings: Steps = 0
    closed_form: ActivationName | None = None


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
        certified_supremum: bound on :math:`|f(x) - y|` over the whole caps.
    """

    supremum: float
    robust_error: float
    norm: float
    kernel_error: float
    kernel_size: float
    degrees: list[float]
    even_weight: float
    odd_weight: float
    certified_supremum: float | None = None


def run(config: KernelConfig, generator: torch.Generator) -> KernelResult:
    r"""Interpolate the labels on covered caps, and see how far the function strays at fresh points.

    The kernel's closed form is compared with the mean over `draws` weights of

    .. math:: K(x, x') = \langle x, x' \rangle \, E_w[\varphi'(\langle w, x \rangle)
        \varphi'(\langle w, x' \rangle)], \qquad w \sim N(0, I).

    Ref: convergence, Asm 5.2; convergence, Def 5.1
    """
    centres, y = _labelled_centres(config, generator)
    function, fresh = _robust_interpolant(config, centres, y, generator)
    values = function(fresh.reshape(-1, fresh.shape[-1])).reshape(len(y), -1)
    x = fresh[:, 0]
    activation = activation_of(config.activation)
    W = torch.randn(config.draws, x.shape[1], generator=generator, dtype=torch.float64)
    closed_form = gram(profile_of(activation_of(config.closed_form or config.activation)), x)
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
        certified_supremum=_certified_supremum(config, function, centres, y),
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


def _certified_supremum(
    config: KernelConfig, function: KernelFunction, centres: Tensor, y: Tensor
) -> float | None:
    r"""A bound on :math:`|f - y|` over the whole caps, from a lattice of each; None where there is none.

    Between points a function of the space moves by at most its norm times their distance in the space,

    .. math:: |f(x) - f(x')| \le \|f\| \sqrt{K(x, x) + K(x', x') - 2 K(x, x')}.
    """
    if not config.rings or config.d != 3 or config.lift:
        return None
    largest = 0.0
    for centre, label in zip(centres, y, strict=True):
        values = function(cap_lattice(centre, config.tau, config.rings))
        largest = max(largest, float((values - label).abs().max()))
    angle = torch.tensor(lattice_spacing(config.tau, config.rings), dtype=torch.float64)
    near = torch.tensor([[1.0, 0.0], [torch.cos(angle), torch.sin(angle)]], dtype=torch.float64)
    K = gram(profile_of(function.activation), near)
    distance = float((K[0, 0] + K[1, 1] - 2 * K[0, 1]).clamp_min(0).sqrt())
    return largest + function.norm * distance


def _robust_interpolant(
    config: KernelConfig, centres: Tensor, y: Tensor, generator: torch.Generator
) -> tuple[KernelFunction, Tensor]:
    """Interpolate centres and cover points; the function and fresh points (n, fresh, d)."""
    known = centres.unsqueeze(1)
    if config.cover:
        known = torch.cat([known, cap_points(centres, config.cover, config.tau, generator)], dim=1)
    fresh = cap_points(centres, config.fresh, config.tau, generator)
    if config.lift:
        known, fresh = _lifted(known), _lifted(fresh)
    x = known.reshape(-1, known.shape[-1])
    targets = y.repeat_interleave(known.shape[1])
    function = interpolant(activation_of(config.activation), x, targets, ridge=config.ridge)
    return function, fresh


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

# A ridge keeps the norm small, and with it what the function can do between the points of the lattice.
_ROBUST = KernelConfig(
    activation="smoothed_relu", n=4, tau=0.1, cover=80, fresh=120, draws=1000, ridge=1e-3, rings=48
)

ROBUST = Experiment(
    name="convergence.robust",
    title="Is there a function of the tangent kernel's space that is certified robust on all caps?",
    paper="convergence",
    presets={
        "tiny": Preset(config=replace(_ROBUST, cover=20, rings=24), seeds=2, cell_seconds=0.1),
        "quick": Preset(config=_ROBUST, seeds=4, cell_seconds=0.3),
        "full": Preset(
            config=replace(_ROBUST, rings=72),
            grid={
                "activation": ("smoothed_relu", "softplus", "smooth_leaky_relu"),
                "tau": (0.05, 0.1, 0.15),
            },
            seeds=10,
            cell_seconds=3,
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
