"""Is any net of the lazy ball robust? The radius at which one point defeats all of them at once, in law."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, MinLen

from karat.core.ranges import Count, NonNegative, Unbounded, settings
from karat.papers.lazy.bounds import sharp_flip_length
from karat.papers.lazy.experiments.start import Rows
from karat.reductions.in_law import PlaneStart, draw_plane_start, largest_margins
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined

FARTHEST = 2.0
"""Tangent up to which points are tried: about where the expected margin of the ball is lowest."""

RESOLUTION = 0.01
"""Of a radius at which a ball is defeated, relative; it is rounded up."""


@dataclass(frozen=True, kw_only=True)
@settings
class EveryNetConfig:
    """Settings of one cell: independent starts, each with an input of its own.

    Args:
        d: input dimension.
        m: width.
        C0: radii of balls around the same starts, times sqrt m; inf for no ball at all.
        draws: starts.
        rows: of the start; "unit" is a control whose rows do not grow with d.
    """

    d: Annotated[int, Ge(2)]
    m: Count
    C0: Annotated[tuple[Annotated[NonNegative, Unbounded()], ...], MinLen(1)] = (1.0, 10.0)
    draws: Count = 20
    rows: Rows = "gaussian"


@dataclass(frozen=True, kw_only=True)
class EveryNetResult:
    """What no net of a ball can withstand.

    Args:
        radius: for every ball, one number per start: an attack radius at which no net of the ball is robust
            at the input.
    """

    radius: Annotated[list[list[float]], Undefined("infinite where no point on the way defeats every net")]


def run(config: EveryNetConfig, generator: torch.Generator) -> EveryNetResult:
    """Draw start after start in law, and look for the nearest point that defeats each of its balls.

    Reading: the label is 1, for a change of all signs a_s changes the label and not the law. By rotation any
        input of the sphere is as good as any other.

    Ref: lazy, Cor 3.2
    """
    radius: list[list[float]] = [[] for _ in config.C0]
    scale = 1.0 if config.rows == "gaussian" else 1 / math.sqrt(config.d)
    for _ in range(config.draws):
        start = draw_plane_start(config.d, config.m, row_scale=scale, generator=generator)
        for of_ball, C0 in zip(radius, config.C0, strict=True):
            of_ball.append(defeating_radius(start, C0))
    return EveryNetResult(radius=radius)


def defeating_radius(start: PlaneStart, C0: float, y: int = 1) -> float:
    """Return the distance of a point at which no net of the ball is right, walking against the gradient.

    Args:
        start: in the plane of the input and its gradient.
        C0: radius of the ball times sqrt m.
        y: label.

    Returns:
        that of the first such point, at most 1 % too long, inf where there is none up to `FARTHEST`.

    Ref: lazy, Cor 3.2
    """
    if math.isinf(C0):
        return math.inf
    weight_radius = C0 / math.sqrt(start.m)
    first_order = sharp_flip_length(y * start.value, start.gradient, C0)
    guess = math.tan(math.asin(min(0.7, max(0.1 / math.sqrt(start.d), first_order))))
    tangents = [0.0, 0.9 * guess, guess, 1.1 * guess, FARTHEST]
    margins: dict[float, float] = {}
    while True:
        found = largest_margins(start, y, tangents, [weight_radius] * len(tangents))
        margins.update(zip(tangents, found, strict=True))
        high = min((tangent for tangent, margin in margins.items() if margin <= 0), default=math.inf)
        if high in (0.0, math.inf):
            return high
        low = max(tangent for tangent in margins if tangent < high)
        if high - low <= RESOLUTION * high:
            return high / math.sqrt(1 + high**2)
        # The margin is nearly linear in the tangent; the middle is there for when it is not.
        root = low + (high - low) * margins[low] / (margins[low] - margins[high])
        near = ((1 - RESOLUTION / 3) * root, (1 + RESOLUTION / 3) * root, (low + high) / 2)
        tangents = [tangent for tangent in near if low < tangent < high]


def in_window(dimensions: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4.

    Args:
        dimensions: of the cells.
    """
    # At the smallest dimensions draws cost nothing.
    return tuple({"d": d, "m": math.ceil(d**2.4), "draws": 100 if d < 200 else 20} for d in dimensions)


_BASE = EveryNetConfig(d=64, m=math.ceil(64**2.4))

EVERY_NET = Experiment(
    name="lazy.every-net",
    title="Inside the theorem's window, is any net of the lazy ball robust at a radius of order 1/sqrt d?",
    paper="lazy",
    presets={
        "tiny": Preset(config=_BASE, points=in_window((25, 64, 100)), seeds=4, cell_seconds=0.05),
        "quick": Preset(
            config=_BASE, points=in_window((25, 64, 100, 196, 324, 400, 784)), seeds=4, cell_seconds=1
        ),
        "full": Preset(
            config=_BASE,
            points=in_window((25, 64, 100, 196, 324, 400, 784, 1156, 1600)),
            seeds=20,
            cell_seconds=6,
        ),
    },
    run=run,
    work=lambda config: config.m * config.draws * len(config.C0),
)

# Below the window's lower end on purpose: the law is exact at any width.
NARROW = Experiment(
    name="lazy.every-net.narrow",
    title="At one width, how does the radius at which one point defeats all lazy nets fall with d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=EveryNetConfig(d=100, m=1000, C0=(1.0,), draws=40),
            grid={"d": (100, 10_000, 1_000_000)},
            seeds=4,
            cell_seconds=0.05,
        ),
        "quick": Preset(
            config=EveryNetConfig(d=100, m=4000, C0=(1.0,), draws=100),
            grid={"d": (100, 1000, 10_000, 10**5, 10**6, 10**7, 10**8)},
            seeds=5,
            cell_seconds=0.04,
        ),
        "full": Preset(
            config=EveryNetConfig(d=100, m=10**6, C0=(1.0,), draws=100),
            grid={"d": (100, 1000, 10_000, 10**5, 10**6, 10**7, 10**8, 10**9)},
            seeds=10,
            cell_seconds=6,
        ),
    },
    run=run,
    work=lambda config: config.m * config.draws * len(config.C0),
)
