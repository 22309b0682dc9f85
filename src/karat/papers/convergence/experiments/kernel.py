"""The tangent kernel: closed forms against Monte-Carlo, and which degrees it holds."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from annotated_types import Ge

from karat.core.ranges import Count, settings
from karat.core.tangent_kernel import degree_weights, empirical_gram, gram, profile_of
from karat.papers.convergence.experiments.activations import ActivationName, activation_of
from karat.study.experiment import Experiment, Preset

DEGREES = 9
"""The largest degree looked at."""


@dataclass(frozen=True, kw_only=True)
@settings
class KernelConfig:
    """Settings of one kernel and one draw of its Monte-Carlo twin.

    Args:
        activation: whose tangent kernel it is.
        d: dimension.
        n: random points of the sphere at which both are compared.
        draws: of the Monte-Carlo kernel.
        closed_form: the activation whose closed form is compared with Monte-Carlo, None for the own one.
    """

    activation: ActivationName
    d: Annotated[int, Ge(3)] = 3
    n: Annotated[int, Ge(2)] = 8
    draws: Count = 100_000
    closed_form: ActivationName | None = None


@dataclass(frozen=True, kw_only=True)
class KernelResult:
    r"""What one kernel shows.

    Args:
        kernel_error: largest deviation of the closed form from Monte-Carlo, times the root of the draws.
        kernel_size: largest entry of the kernel matrix.
        degrees: eigenvalue of the kernel for every degree from 0 on.
        even_weight: sum of the eigenvalues of even degrees from 4 on.
        odd_weight: sum of the eigenvalues of odd degrees from 5 on.
    """

    kernel_error: float
    kernel_size: float
    degrees: list[float]
    even_weight: float
    odd_weight: float


def run(config: KernelConfig, generator: torch.Generator) -> KernelResult:
    r"""Compare the kernel's closed form with the mean over `draws` weights, and expand it into degrees.

    .. math:: K(x, x') = \langle x, x' \rangle \, E_w[\varphi'(\langle w, x \rangle)
        \varphi'(\langle w, x' \rangle)], \qquad w \sim N(0, I).

    Ref: convergence, Def 5.1
    """
    x = torch.randn(config.n, config.d, generator=generator, dtype=torch.float64)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    activation = activation_of(config.activation)
    W = torch.randn(config.draws, config.d, generator=generator, dtype=torch.float64)
    closed_form = gram(profile_of(activation_of(config.closed_form or config.activation)), x)
    error = (empirical_gram(W, activation, x) - closed_form).abs().max()
    weights = degree_weights(profile_of(activation), config.d, DEGREES)
    return KernelResult(
        kernel_error=float(error) * math.sqrt(config.draws),
        kernel_size=float(closed_form.abs().max()),
        degrees=weights,
        # Low degrees are there for every activation: parity shows beyond them only.
        even_weight=sum(abs(weight) for weight in weights[4::2]),
        odd_weight=sum(abs(weight) for weight in weights[5::2]),
    )


_BASE = KernelConfig(activation="relu")

KERNEL = Experiment(
    name="convergence.kernel",
    title="Do the closed forms of the tangent kernels hold, and which degrees do the kernels have?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(_BASE, n=4, draws=20_000),
            grid={"activation": ("relu", "quadratic_relu")},
            seeds=2,
            cell_seconds=0.05,
        ),
        "quick": Preset(
            config=_BASE,
            grid={"activation": ("relu", "smoothed_relu", "quadratic_relu")},
            seeds=6,
            cell_seconds=0.02,
        ),
        "full": Preset(
            config=replace(_BASE, draws=1_000_000),
            grid={
                "activation": ("relu", "smoothed_relu", "softplus", "smooth_leaky_relu", "quadratic_relu"),
                "d": (3, 4, 5, 6),
            },
            seeds=10,
            cell_seconds=5,
        ),
    },
    run=run,
)
