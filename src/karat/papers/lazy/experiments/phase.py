"""From which dimension on does one point defeat the whole lazy ball? Draws where a formula has the edge."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge

from karat.core.ranges import Count, Inside, NonNegative, settings
from karat.papers.lazy.bounds_in_law import defeating_dimension
from karat.papers.lazy.experiments.start import Rows
from karat.reductions.in_law import draw_plane_start, largest_margins
from karat.study.experiment import Experiment, Preset

EDGE = 0.9
"""Share of starts at which the edge is drawn: the robust error of the corollary."""

HALF = 0.5
"""Share at which the mean alone decides, and no spread."""


@dataclass(frozen=True, kw_only=True)
@settings
class PhaseConfig:
    """Settings of one cell: independent starts, each with an input of its own.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        tau: attack radius.
        draws: starts.
        rows: of the start; "unit" is a control whose rows do not grow with d.
        walk: against the gradient of the start, or, as a control, in a direction that does not know it.
    """

    d: Annotated[int, Ge(2)]
    m: Count
    C0: NonNegative
    tau: Inside = 0.5
    draws: Count = 125
    rows: Rows = "gaussian"
    walk: Literal["gradient", "random"] = "gradient"


@dataclass(frozen=True, kw_only=True)
class PhaseResult:
    """How often one point defeats the ball.

    Args:
        defeated: share of the starts.
    """

    defeated: float


def run(config: PhaseConfig, generator: torch.Generator) -> PhaseResult:
    """Count the starts whose whole ball is wrong at the point of the attack ball against the gradient.

    Ref: lazy, Cor 3.2
    """
    tangent = config.tau / math.sqrt(1 - config.tau**2)
    scale = 1.0 if config.rows == "gaussian" else 1 / math.sqrt(config.d)
    defeated = 0
    for _ in range(config.draws):
        start = draw_plane_start(config.d, config.m, row_scale=scale, generator=generator)
        if config.walk == "random":
            start = replace(start, h=scale * torch.randn(config.m, generator=generator))
        (margin,) = largest_margins(start, 1, [tangent], [config.C0 / math.sqrt(config.m)])
        defeated += margin <= 0
    return PhaseResult(defeated=defeated / config.draws)


def _where(tau: float, C0: float, share: float, draws: int = 0) -> Mapping[str, Any]:
    """The dimension at which the formula names this share, at a width m = d^2 of 2000 at least."""
    d = round(defeating_dimension(C0, tau, share))
    # A share of one half has the larger spread.
    draws = draws or (3000 if share == HALF else 1500)
    return {"tau": tau, "C0": C0, "d": d, "m": max(2000, d**2), "draws": draws}


def _over_angles(draws: int = 0) -> tuple[Mapping[str, Any], ...]:
    """Small dimensions, where draws cost little and half a dimension shows, at three attack radii."""
    return tuple(
        _where(tau, C0, share, draws)
        for tau, C0 in ((0.2, 0.5), (0.5, 2.0), (0.8, 4.0))
        for share in (HALF, EDGE)
    )


_BASE = PhaseConfig(d=13, m=2000, C0=2.0)

PHASE = Experiment(
    name="lazy.ball-edge",
    title="How often does one point defeat the whole lazy ball, at several radii, balls and dimensions?",
    paper="lazy",
    presets={
        "tiny": Preset(config=_BASE, points=_over_angles(300), seeds=4, cell_seconds=0.05),
        "quick": Preset(
            config=_BASE, points=(*_over_angles(), _where(0.5, 5.0, EDGE)), seeds=8, cell_seconds=0.25
        ),
        "full": Preset(
            config=_BASE,
            points=(*_over_angles(), *(_where(0.5, C0, EDGE) for C0 in (5.0, 10.0, 20.0))),
            seeds=8,
            cell_seconds=30,
        ),
    },
    run=run,
    work=lambda config: config.m * config.draws,
)
