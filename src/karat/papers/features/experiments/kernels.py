"""Corollary 3: shift-invariant kernels on the mixture, against a floor with an exact eigenvalue."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from karat.core.ranges import Positive
from karat.papers.features.bounds import kernel_floor, rbf_parity_eigenvalue
from karat.papers.features.experiments.learning import draw
from karat.papers.features.experiments.scores import accuracy, hinge
from karat.papers.features.experiments.settings import LearningConfig, Rates
from karat.study.experiment import Experiment, Preset
from karat.training.fixed_features import kernel_ridge

RIDGES = (1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True, kw_only=True)
class KernelConfig(LearningConfig):
    r"""Settings of a kernel machine on patterns.

    Args:
        bandwidth: :math:`h` of :math:`\exp(-|x - x'|^2 / (2 h^2))`, on inputs :math:`|x| \approx 1`.
        ridges: candidates, of which the validation sample chooses.
        sees: patterns that the kernel looks at: "all", or only the "relevant" ones, which no kernel can
            know that was fixed before the data.
    """

    bandwidth: Positive = 1.0
    ridges: Rates = RIDGES
    sees: Literal["all", "relevant"] = "all"


@dataclass(frozen=True, kw_only=True)
class KernelResult:
    r"""A fitted kernel machine and the floor under its hinge loss.

    Args:
        test: accuracy.
        hinge: test hinge loss.
        coin_hinge: hinge loss on the coins of the test sample.
        rkhs_norm: :math:`L`, of the fitted function.
        eigenvalue: :math:`\lambda_k`, of the kernel at the parities of k patterns.
        floor: :math:`p_o (1 - L \sqrt{\lambda_k})`.
    """

    test: float
    hinge: float
    coin_hinge: float
    rkhs_norm: float
    eigenvalue: float
    floor: float


def run(config: KernelConfig, generator: torch.Generator) -> KernelResult:
    """Fit kernel ridge regression, ridge chosen on the validation sample; hinge loss against its floor.

    Args:
        config: settings of the run.
        generator: draws the samples.
    """
    problem = draw(config, generator)
    train, validation, test = problem.train, problem.validation, problem.test
    if config.sees == "relevant":
        A = problem.model.A
        train, validation, test = (replace(sample, x=sample.x[:, A]) for sample in (train, validation, test))
    kernel = _rbf(train.x, train.x, config.bandwidth)
    alphas = kernel_ridge(kernel, train.y, config.ridges)
    on_validation = _rbf(validation.x, train.x, config.bandwidth) @ alphas.T
    losses = [hinge(column, validation.y) for column in on_validation.T]
    alpha = alphas[losses.index(min(losses))]
    f = _rbf(test.x, train.x, config.bandwidth) @ alpha
    norm = math.sqrt(float(alpha @ kernel @ alpha))
    # Inputs are patterns over scale: two that differ in one pattern are 1/scale apart.
    overlap = math.exp(-1 / (2 * (config.bandwidth * problem.scale) ** 2))
    eigenvalue = rbf_parity_eigenvalue(config.D, config.k, overlap)
    coins = test.component == 0
    return KernelResult(
        test=accuracy(f, test.y),
        hinge=hinge(f, test.y),
        coin_hinge=hinge(f[coins], test.y[coins]),
        rkhs_norm=norm,
        eigenvalue=eigenvalue,
        floor=kernel_floor(config.p_o, eigenvalue, norm),
    )


def _rbf(x: Tensor, other: Tensor, bandwidth: float) -> Tensor:
    r""":math:`\exp(-|x - x'|^2 / (2 h^2))`, in double precision."""
    return torch.exp(torch.cdist(x.double(), other.double()).square() / (-2 * bandwidth**2))


_BASE = KernelConfig(d=100, D=100, k=5, n=1500, pairs=1, steps=3, methods=(), n_test=2000, n_validation=1000)

COR3 = Experiment(
    name="features.cor3",
    title="Where does the hinge loss of radial kernels stop?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(_BASE, d=20, D=20, n=200, n_test=300, n_validation=200), seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(config=_BASE, grid={"bandwidth": (0.5, 1.0)}, seeds=3, cell_seconds=0.31),
        "full": Preset(
            config=replace(_BASE, n=8000),
            grid={"bandwidth": (0.25, 0.5, 1.0, 2.0), "p_o": (0.25, 0.5)},
            seeds=5,
            cell_seconds=60,
        ),
    },
    run=run,
)
