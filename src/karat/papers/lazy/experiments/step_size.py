"""How large must the theorem's step be? Draws of the net of the ball that is hardest to flip."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.papers.lazy.bounds_in_law import step_constant
from karat.papers.lazy.single_step import value_of_turned_net
from karat.reductions.in_law import draw_plane_start
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class StepSizeConfig:
    """Settings of one cell: independent starts, each with an input of its own.

    Args:
        d: input dimension, free of charge.
        m: width.
        C0: radius of the ball times sqrt m.
        C2: of the theorem's step size C2/|grad f|^2.
        draws: starts.
        net: whose sign the step must change: of the net whose rows all turn towards x or, as a
            control, the start.
    """

    d: Annotated[int, Ge(3)] = 10**8
    m: Count = 4000
    C0: NonNegative
    C2: Positive
    draws: Count = 400
    net: Literal["turned", "start"] = "turned"


@dataclass(frozen=True, kw_only=True)
class StepSizeResult:
    """How often the step leaves the sign as it is.

    Args:
        withstood: share of the starts.
    """

    withstood: float


def run(config: StepSizeConfig, generator: torch.Generator) -> StepSizeResult:
    """Count the starts whose turned net keeps its sign.

    Ref: lazy, Thm 3.1
    """
    C0 = config.C0 if config.net == "turned" else 0.0
    withstood = 0
    for _ in range(config.draws):
        start = draw_plane_start(config.d, config.m, generator=generator)
        withstood += value_of_turned_net(start, C0, config.C2, generator=generator) > 0
    return StepSizeResult(withstood=withstood / config.draws)


def _sizes(C0: tuple[float, ...], p_fail: tuple[float, ...]) -> tuple[dict[str, float], ...]:
    """The step sizes at which the formula names these probabilities."""
    return tuple({"C0": ball, "C2": round(step_constant(ball, p), 3)} for ball in C0 for p in p_fail)


_BASE = StepSizeConfig(C0=1.0, C2=1.66)

STEP_SIZE = Experiment(
    name="lazy.step-size",
    title="How large must one gradient step be to flip every net of the lazy ball, at several probabilities?",
    paper="lazy",
    presets={
        "tiny": Preset(config=_BASE, points=_sizes((0.25, 1.0), (0.1, 0.5)), seeds=3, cell_seconds=0.3),
        "quick": Preset(config=_BASE, points=_sizes((0.25, 1.0), (0.1, 0.5)), seeds=6, cell_seconds=0.2),
        "full": Preset(
            config=StepSizeConfig(C0=1.0, C2=1.66, m=100_000, draws=1000),
            points=_sizes((0.25, 1.0, 5.0), (0.01, 0.05, 0.1, 0.5)),
            seeds=10,
            cell_seconds=8,
        ),
    },
    run=run,
    work=lambda config: config.m * config.draws,
)
