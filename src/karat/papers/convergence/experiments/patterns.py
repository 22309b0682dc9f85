r"""What the weights of a ball can do at most to one hidden layer: signs, gradient, convexity."""

import math
from dataclasses import dataclass
from typing import Literal

import torch

from karat.core.ranges import Count, Positive, settings
from karat.papers.convergence.experiments.worst_cases import changed_signs, changed_weight, non_convexity
from karat.reductions.span.gaussian import chi
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class PatternsConfig:
    r"""Settings of one start and its ball.

    Args:
        m: width.
        R: the weights stay within :math:`R/\sqrt m` of their start.
        law: of the preactivations; "cubed" Gaussians crowd at the kink.
    """

    m: Count
    R: Positive = 1.0
    law: Literal["gaussian", "cubed"] = "gaussian"


@dataclass(frozen=True, kw_only=True)
class PatternsResult:
    r"""What the worst weights of the ball do, each by itself.

    Args:
        share: of the signs that change, exactly.
        gradient: change of the gradient that no weights of the ball exceed.
        gradient_attained: by some weights of the ball.
        non_convexity: that no two nets of the ball exceed.
        non_convexity_attained: by some two.
        slope: that over :math:`\|W_2 - W_1\|_F` which no two nets of the ball exceed.
        slope_attained: by some two.
    """

    share: float
    gradient: float
    gradient_attained: float
    non_convexity: float
    non_convexity_attained: float
    slope: float
    slope_attained: float


def run(config: PatternsConfig, generator: torch.Generator) -> PatternsResult:
    r"""Draw a start with one hidden layer, and ask what the weights of its ball do at one unit input.

    Reading: the start of Equation 1 with H = 1: :math:`|Ax|^2` is :math:`2/m` times a chi-squared variable,
        and preactivations are N(0, 2/m) times its root. The input is not shifted, :math:`\delta = 0`.

    Ref: convergence, Eq 10; convergence, Lem A.5; convergence, Lem A.6
    """
    m = config.m
    length = math.sqrt(2 / m) * chi(torch.tensor([float(m)]), generator=generator)[0]
    z = torch.randn(m, generator=generator, dtype=torch.float64)
    if config.law == "cubed":
        z = z**3
    z = z.mul_(math.sqrt(2 / m) * float(length))
    a = torch.randn(m, generator=generator, dtype=torch.float64)
    reach = config.R / math.sqrt(m) * length
    weight = changed_weight(z, a, reach)
    # The loss may have a slope of either sign.
    up, down = non_convexity(z, a, reach), non_convexity(z, -a, reach)
    return PatternsResult(
        share=int(changed_signs(z, reach)) / m,
        gradient=float(length * weight.bound),
        gradient_attained=float(length * weight.attained),
        non_convexity=float(torch.maximum(up.total.bound, down.total.bound)),
        non_convexity_attained=float(torch.maximum(up.total.attained, down.total.attained)),
        slope=float(length * torch.maximum(up.slope.bound, down.slope.bound)),
        slope_attained=float(length * torch.maximum(up.slope.attained, down.slope.attained)),
    )


def work(config: PatternsConfig) -> float:
    """Draws and sorts; narrow layers cost as much as one of 10,000 neurons."""
    return 1e4 + config.m


QUARTER = 0.25
"""The radius at which widths that can be drawn lie inside the lemmas' own regime."""

PATTERNS = Experiment(
    name="convergence.patterns",
    title="What can the weights of a ball do at most to one hidden layer, as the width grows?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=PatternsConfig(m=1000),
            points=(*({"m": 4**k, "R": R} for k in (5, 6, 7) for R in (QUARTER, 1.0)), {"m": 4**7, "R": 4.0}),
            seeds=2,
            cell_seconds=0.01,
        ),
        "quick": Preset(
            config=PatternsConfig(m=2**18),
            points=(
                *({"m": 4**k} for k in range(5, 12)),
                *({"m": 4**k, "R": QUARTER} for k in (9, 10, 11)),
                *({"R": R} for R in (0.5, 2.0, 4.0)),
            ),
            seeds=6,
            cell_seconds=0.2,
        ),
        "full": Preset(
            config=PatternsConfig(m=2**18),
            points=(
                *({"m": 4**k, "R": R} for k in range(4, 13) for R in (QUARTER, 1.0, 4.0)),
                *({"R": R} for R in (0.5, 2.0, 8.0)),
            ),
            seeds=10,
            cell_seconds=1,
        ),
    },
    run=run,
    work=work,
)
