"""Does one gradient step flip EVERY net of the lazy ball? Starts on which it provably does, in law."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.papers.lazy.experiments.start import Rows
from karat.papers.lazy.single_step import gradient_ranges, value_after_step, value_of_turned_net
from karat.reductions.in_law import draw_plane_start
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class EveryStepConfig:
    """Settings of one cell: independent starts, each with an input of its own.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        C2: of the theorem's step size C2/|grad f|^2.
        draws: starts.
        rows: of the start; "unit" is a control whose rows do not grow with d.
    """

    d: Annotated[int, Ge(3)]
    m: Count
    C0: NonNegative = 1.0
    C2: Positive = 4.0
    draws: Count = 20
    rows: Rows = "gaussian"


@dataclass(frozen=True, kw_only=True)
class EveryStepResult:
    """For how many starts the step is proven to flip every net of the ball.

    Args:
        certified: one answer per start.
        refuted: whether the step leaves the sign of one net of the ball; asked where there is no certificate.
        gradient: the smallest gradient across x that the certificate allows a net of the ball, per start.
    """

    certified: list[bool]
    refuted: list[bool]
    gradient: list[float]


def run(config: EveryStepConfig, generator: torch.Generator) -> EveryStepResult:
    """Draw starts in law and certify the step for nets of both signs.

    Reading: rows of length 1 have a 1/sqrt d-th of everything in them, and so the ball of radius sqrt d C0
        and steps d times as short as rows N(0, I) have.

    Ref: lazy, Thm 3.1
    """
    unit = 1.0 if config.rows == "gaussian" else 1 / math.sqrt(config.d)
    C0, C2 = config.C0 / unit, config.C2 / unit**2
    certified, refuted, gradient = [], [], []
    for _ in range(config.draws):
        start = draw_plane_start(config.d, config.m, generator=generator)
        gradients = gradient_ranges(start, C0)
        values = [value_after_step(start, C0, C2, y, gradients) for y in (1, -1)]
        certified.append(max(values) < 0)
        refuted.append(not certified[-1] and value_of_turned_net(start, C0, C2, generator=generator) > 0)
        gradient.append(unit * gradients.low)
    return EveryStepResult(certified=certified, refuted=refuted, gradient=gradient)


_BASE = EveryStepConfig(d=324, m=math.ceil(324**2.4))


def _at_lower_end(draws: Mapping[int, int]) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4; so many draws at each d."""
    return tuple({"d": d, "m": math.ceil(d**2.4), "draws": count} for d, count in draws.items())


EVERY_STEP = Experiment(
    name="lazy.thm3.1",
    title="At the lower end of the window, does one gradient step provably flip every net of the lazy ball?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=_BASE,
            points=({"d": 400, "m": 20_000}, {"d": 784, "m": 20_000}),
            seeds=4,
            cell_seconds=0.05,
        ),
        "quick": Preset(
            config=_BASE, points=_at_lower_end({324: 30, 400: 25, 784: 14}), seeds=4, cell_seconds=2
        ),
        "full": Preset(
            config=_BASE,
            points=_at_lower_end({324: 30, 400: 30, 576: 30, 784: 30, 1156: 30}),
            seeds=10,
            cell_seconds=9,
        ),
    },
    run=run,
    work=lambda config: config.m * config.draws,
)
