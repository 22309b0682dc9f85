r"""The linear net beside training, by formulas: its weights :math:`\mu^*` and its loss."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le, Lt

from karat.core.ranges import Positive, settings
from karat.data import SparseCode
from karat.papers.purification.bounds import GAMMA
from karat.papers.purification.bounds_coupling import coupled_loss, log_sure_winners
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class WeightsConfig:
    r"""A Gaussian start.

    Args:
        digits: :math:`\log_{10} d`.
        c0: the width is :math:`m = d^{1 + c_0}`.
        gamma: slack of the lottery's levels.
        alone: one sure winner per feature instead of the expected number.
    """

    digits: Positive
    c0: Annotated[float, Gt(0), Lt(1)] = 0.9
    gamma: Annotated[float, Gt(0), Le(0.1)] = GAMMA
    alone: bool = False

    @property
    def log_d(self) -> float:
        """Natural logarithm of the dimension."""
        return self.digits * math.log(10)


@dataclass(frozen=True, kw_only=True)
class WeightsResult:
    r"""Logarithms.

    Args:
        sure: of the sure winners per feature.
        squares: of :math:`\sum_i \|\mu^*_i\|^2` over :math:`\alpha^2 d / \Xi_1`.
        cubes: of :math:`\sum_i \|\mu^*_i\|^3` over the printed :math:`\alpha^3 d / \Xi_2^2`.
        smaller_cubes: over :math:`\alpha^3 d / \Xi_1^2`.
    """

    sure: float
    squares: float
    cubes: float
    smaller_cubes: float


def weigh(config: WeightsConfig, generator: torch.Generator) -> WeightsResult:
    r"""Evaluate :math:`\sum_i \|\mu^*_i\|^p = \alpha^p d\, |S_{sure}|^{1 - p}`; nothing is drawn."""
    sure = 0.0 if config.alone else log_sure_winners(config.log_d, config.c0, config.gamma)
    xi1, xi2 = (power * config.gamma * config.c0 * config.log_d for power in (0.25, 2.0))
    return WeightsResult(
        sure=sure, squares=xi1 - sure, cubes=2 * (xi2 - sure), smaller_cubes=2 * (xi1 - sure)
    )


@dataclass(frozen=True, kw_only=True)
@settings
class LossConfig:
    r"""A linear net on the score.

    Args:
        alpha: its factor, and :math:`\Xi_2`.
        k: sparsity; None for the limit of large k.
        small_rate: expected number of small codes over k.
        small_spread: largest small code in units of :math:`1/\sqrt k`.
    """

    alpha: Positive
    k: Annotated[int, Ge(16), Le(10**6)] | None = None
    small_rate: Positive = 1.0
    small_spread: Annotated[float, Ge(1)] = 1.5

    def __post_init__(self) -> None:
        if self.k is not None:
            SparseCode(k=self.k, D=math.ceil(self.k**2.5), small_rate=self.small_rate)  # its own checks


@dataclass(frozen=True, kw_only=True)
class LossResult:
    r"""One number.

    Args:
        loss: :math:`E \log(1 + e^{-\alpha |\langle w^*, z \rangle|})`.
    """

    loss: float


def lose(config: LossConfig, generator: torch.Generator) -> LossResult:
    """Evaluate the integral; nothing is drawn."""
    return LossResult(
        loss=coupled_loss(
            config.alpha, config.k, small_rate=config.small_rate, small_spread=config.small_spread
        )
    )


_WEIGHTS = Preset(
    config=WeightsConfig(digits=4000.0),
    grid={"digits": (4000.0, 8000.0, 16_000.0, 32_000.0)},
    seeds=1,
    cell_seconds=0.005,
)
_LOSSES = Preset(
    config=LossConfig(alpha=4.0),
    grid={"alpha": (4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)},
    points=({"k": None}, {"k": 1024}, {"k": 1024, "small_spread": 1.0}),
    seeds=1,
    cell_seconds=0.01,
)

COUPLING_WEIGHTS = Experiment(
    name="purification.coupling_weights",
    title="How large are the weights that training is compared with?",
    paper="purification",
    presets={"tiny": _WEIGHTS, "quick": _WEIGHTS, "full": _WEIGHTS},
    run=weigh,
)

COUPLING_LOSS = Experiment(
    name="purification.coupling_loss",
    title="What is the loss of the linear net that training is compared with?",
    paper="purification",
    presets={"tiny": _LOSSES, "quick": _LOSSES, "full": _LOSSES},
    run=lose,
)
