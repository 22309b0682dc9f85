"""Gradients of the noisy odd net: printed formulas against autograd, and samples against the population."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.core.ranges import Count, settings
from karat.data import SparseCode, SparseCoding
from karat.papers.purification.experiments.draws import split
from karat.study.experiment import Experiment, Preset

THRESHOLD, SIGMA = 0.3, 0.2
"""Threshold b and noise sigma_rho of the net."""
AVERAGED = 16
"""Draws of rho that stand for its expectation."""


@dataclass(frozen=True, kw_only=True)
@settings
class GradientsConfig:
    r"""A small net and samples of growing size.

    Args:
        N: points of the sample.
        d: dimension.
        k: sparsity.
        m: pairs of neurons.
        reference: points that stand for the population.
        rho: "fresh" noise for every point, or one draw "shared" by all.
        points: "fresh", or the first one "repeated" N times.
        indicators: signs between them as "printed" (plus in the gradient, minus in the kernel) or "swapped".
    """

    N: Count
    d: Count = 8
    k: Count = 4
    m: Count = 6
    reference: Count = 100_000
    rho: Literal["fresh", "shared"] = "fresh"
    points: Literal["fresh", "repeated"] = "fresh"
    indicators: Literal["printed", "swapped"] = "printed"

    def __post_init__(self) -> None:
        SparseCode(k=self.k, D=self.d)  # its own checks


@dataclass(frozen=True, kw_only=True)
class GradientsResult:
    r"""Differences of gradients, in the Frobenius norm over that of the population's gradient.

    Args:
        data_error: sample against population, at weights that do not depend on the sample.
        fitted_error: the same at weights that were fitted to the sample.
        noise_error: one draw of rho per point against its mean, on the same points.
        fact: the gradient's formula against automatic differentiation, largest entry.
        kernel: the kernel's feature map against the gradient of f, largest entry.
        kernel_other: the same with the other sign between the indicators.
        asymmetry: largest :math:`|p(x) - p(-x)|` of a predictor on these features.
        predictor_error: its error on points and their negatives.
    """

    data_error: float
    fitted_error: float
    noise_error: float
    fact: float
    kernel: float
    kernel_other: float
    asymmetry: float
    predictor_error: float


def noisy_loss(W: Tensor, x: Tensor, y: Tensor, rho: Tensor) -> Tensor:
    r"""Mean of :math:`\log(1 + e^{-y f})` with the noise inside, a scalar.

    Args:
        W: (m, d) weights.
        x: (n, d) points.
        y: (n,) labels.
        rho: (..., n, m) noise.
    """
    return torch.nn.functional.softplus(-y * _output(W, x, rho)[0]).mean()


def printed_gradient(W: Tensor, x: Tensor, y: Tensor, rho: Tensor, sign: int = 1) -> Tensor:
    r"""The formula of the gradient, averaged over points and noise, (m, d).

    .. math:: -y \, \ell' \, \big(1[\langle w_i, x \rangle + \rho_i \ge b] +
        1[-\langle w_i, x \rangle + \rho_i \ge b]\big) \, x

    Args:
        W: (m, d) weights.
        x: (n, d) points.
        y: (n,) labels.
        rho: (..., n, m) noise.
        sign: between the indicators.

    Ref: purification, Fact A.1
    """
    f, on, off = _output(W, x, rho)
    weight = (-y * torch.sigmoid(-y * f)).unsqueeze(-1) * (on + sign * off)
    return weight.reshape(-1, len(x), len(W)).mean(dim=0).T @ x / len(x)


def _output(W: Tensor, x: Tensor, rho: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs and the two indicators."""
    u = x @ W.T
    plus, minus = u + rho - THRESHOLD, -u + rho - THRESHOLD
    f = (plus.clamp_min(0) - minus.clamp_min(0)).sum(dim=-1)
    return f, (plus >= 0).to(x.dtype), (minus >= 0).to(x.dtype)


def features(W: Tensor, x: Tensor, sign: int) -> Tensor:
    r"""The feature map :math:`x\, E_\rho(1[\langle w_i, x \rangle + \rho_i \ge b] \pm 1[\dots])`, (n, m, d).

    Args:
        W: (m, d) weights.
        x: (n, d) points.
        sign: -1 as printed, +1 as the gradient has it.

    Ref: purification, Def 5.5
    """
    u = x @ W.T
    gates = [torch.special.ndtr((s * u - THRESHOLD) / SIGMA) for s in (1, -1)]
    return (gates[0] + sign * gates[1]).unsqueeze(2) * x.unsqueeze(1)


def run(config: GradientsConfig, generator: torch.Generator) -> GradientsResult:
    """Measure gradients on one sample and one net."""
    for_model, for_net, for_points, for_rho, for_reference = split(generator, 5)
    model = SparseCoding.draw(d=config.d, k=config.k, generator=for_model, sigma_x=0.1)
    W = torch.randn(config.m, config.d, generator=for_net, dtype=torch.float64)
    sample = model.sample(config.N, generator=for_points)
    x, y = sample.x, sample.y
    if config.points == "repeated":
        x, y = x[:1].expand_as(x), y[:1].expand_as(y)
    every = _rho(config, config.N, AVERAGED, for_rho)
    fitted = _fit(W, x, y, every)
    far = model.sample(config.reference, generator=for_reference)
    once = _rho(config, config.reference, 1, for_reference)
    truth, fitted_truth = (printed_gradient(V, far.x, far.y, once) for V in (W, fitted))
    size = float(truth.norm())
    one = every[0] if config.rho == "fresh" else every[0, :1].expand_as(every[0])
    return GradientsResult(
        data_error=float((printed_gradient(W, x, y, every) - truth).norm()) / size,
        fitted_error=float((printed_gradient(fitted, x, y, every) - fitted_truth).norm()) / size,
        noise_error=float((printed_gradient(W, x, y, one) - printed_gradient(W, x, y, every)).norm()) / size,
        fact=_largest(
            _autograd(lambda V: noisy_loss(V, x, y, one), W),
            printed_gradient(W, x, y, one, 1 if config.indicators == "printed" else -1),
        ),
        **_kernel(W, x[:200], y[:200], for_net, -1 if config.indicators == "printed" else 1),
    )


def _rho(config: GradientsConfig, n: int, draws: int, generator: torch.Generator) -> Tensor:
    return SIGMA * torch.randn(draws, n, config.m, generator=generator, dtype=torch.float64)


def _fit(W: Tensor, x: Tensor, y: Tensor, rho: Tensor) -> Tensor:
    """Ten steps down the sample's own loss."""
    for step in range(10):
        W = W - 2.0 * printed_gradient(W, x, y, rho[step % len(rho)])
    return W


def _autograd(loss: Callable[[Tensor], Tensor], W: Tensor) -> Tensor:
    variable = W.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(variable), variable)
    return gradient


def _largest(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max())


def _kernel(W: Tensor, x: Tensor, y: Tensor, generator: torch.Generator, sign: int) -> dict[str, float]:
    """The feature map with either sign against the gradient, and a predictor along random weights v."""

    def smoothed(V: Tensor) -> Tensor:
        u = x @ V.T
        p = [(s * u - THRESHOLD) / SIGMA for s in (1, -1)]
        excess = [q * torch.special.ndtr(q) + torch.exp(-(q**2) / 2) / math.sqrt(2 * math.pi) for q in p]
        return SIGMA * (excess[0] - excess[1]).sum()

    gradient = _autograd(smoothed, W)
    v = torch.randn(W.shape, generator=generator, dtype=W.dtype)
    both, labels = torch.cat([x, -x]), torch.cat([y, -y])
    p = (features(W, both, sign) * v).sum(dim=(1, 2))
    return {
        "kernel": _largest(features(W, x, sign).sum(dim=0), gradient),
        "kernel_other": _largest(features(W, x, -sign).sum(dim=0), gradient),
        "asymmetry": _largest(p[: len(x)], p[len(x) :]),
        "predictor_error": float((p * labels <= 0).double().mean()),
    }


GRADIENTS = Experiment(
    name="purification.gradients",
    title="Are the printed gradients right, and how far is a sample's gradient from the population's?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=GradientsConfig(N=100, reference=20_000),
            grid={"N": (100, 300, 1000)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=GradientsConfig(N=250), grid={"N": (250, 1000, 4000, 16_000)}, seeds=5, cell_seconds=0.1
        ),
        "full": Preset(
            config=GradientsConfig(N=250, reference=1_000_000),
            grid={"N": (250, 1000, 4000, 16_000, 64_000)},
            seeds=20,
            cell_seconds=1,
        ),
    },
    run=run,
)
