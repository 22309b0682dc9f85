r"""How many activation signs the weights of a ball can change at most: exactly, by a sort.

A row must move by its own distance :math:`|z_r| = |\langle w_r, x \rangle|` from the kink to change its sign,
so that the ball of radius R changes the k signs of smallest :math:`|z_r|` as long as the sum of their squares
is at most :math:`R^2`.
"""

from dataclasses import dataclass
from typing import Literal

import torch

from karat.core.ranges import Count, Positive, settings
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class PatternsConfig:
    """Settings of one start and its ball.

    Args:
        m: width.
        R: radius of the Frobenius ball around the start.
        law: of the preactivations; "cubed" Gaussians crowd at the kink.
    """

    m: Count
    R: Positive = 4.0
    law: Literal["gaussian", "cubed"] = "gaussian"


@dataclass(frozen=True, kw_only=True)
class PatternsResult:
    """What the worst weights of the ball do.

    Args:
        share: of the signs that change.
    """

    share: float


def run(config: PatternsConfig, generator: torch.Generator) -> PatternsResult:
    """Count the signs that the worst weights of the ball change at one unit input.

    Reading: one hidden layer, in the scaling of Equation 4, where preactivations have variance 1.

    Ref: convergence, Eq 10
    """
    z = torch.randn(config.m, generator=generator, dtype=torch.float64)
    if config.law == "cubed":
        z = z**3
    spent = z.square().sort().values.cumsum(dim=0)
    return PatternsResult(share=int((spent <= config.R**2).sum()) / config.m)


PATTERNS = Experiment(
    name="convergence.patterns",
    title="How many activation signs do the worst weights of a ball change, as the width grows?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=PatternsConfig(m=1000), grid={"m": (1000, 4000, 16_000)}, seeds=2, cell_seconds=0.01
        ),
        "quick": Preset(
            config=PatternsConfig(m=4096),
            grid={"m": (2**12, 2**14, 2**16, 2**18, 2**20)},
            seeds=5,
            cell_seconds=0.03,
        ),
        "full": Preset(
            config=PatternsConfig(m=4096),
            grid={"m": (2**12, 2**14, 2**16, 2**18, 2**20, 2**22), "R": (1.0, 4.0, 16.0)},
            seeds=10,
            cell_seconds=1,
        ),
    },
    run=run,
)
