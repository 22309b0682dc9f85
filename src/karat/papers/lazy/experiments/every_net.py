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
from karat.papers.lazy.single_step import CHANCE
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
        robust: for every ball, one answer per start: whether the ball surely holds a net that is right and
            robust at the input at every radius below |x| = 1.
    """

    radius: Annotated[list[list[float]], Undefined("infinite where no point on the way defeats every net")]
    robust: list[list[bool]]


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
    surely = [_holds_a_robust_net(config, C0, scale) for C0 in config.C0]
    return EveryNetResult(radius=radius, robust=[[sure] * config.draws for sure in surely])


def _holds_a_robust_net(config: EveryNetConfig, C0: float, scale: float) -> bool:
    r"""Whether the ball reaches, from almost every start, the net whose rows are all short and along x.

    With rows :math:`w_s = t y a_s x` there is :math:`y f(p) > 0` wherever :math:`\langle x, p \rangle > 0`.
    The ball holds this net for some t > 0 where V is above the length of the longest row,

    .. math:: \max_s \|w_{s,0}\| \le \sqrt d + \sqrt{2 \log(m/p)} \quad \text{with probability } 1 - p.
    """
    longest = scale * (math.sqrt(config.d) + math.sqrt(2 * math.log(config.m / CHANCE)))
    return C0 / math.sqrt(config.m) > longest


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
    weight_radius = C0 / math.sqrt(start.m)
    margins: dict[float, float] = {}
    guess = _first_guess(start, C0, y)
    tangents = [0.98 * guess, 1.02 * guess]
    while True:
        found = largest_margins(start, y, tangents, [weight_radius] * len(tangents))
        margins.update(zip(tangents, found, strict=True))
        high = min((tangent for tangent, margin in margins.items() if margin <= 0), default=math.inf)
        low = max((tangent for tangent in margins if tangent < high), default=0.0)
        if high == 0 or (high == math.inf and FARTHEST in margins):
            return high
        if low in margins and math.isfinite(high) and high - low <= RESOLUTION * high:
            return high / math.sqrt(1 + high**2)
        if low not in margins or high == math.inf:
            # All on one side: both ends of the walk, and the root as these margins see it.
            low, high, beside = 0.0, FARTHEST, [0.0, FARTHEST]
            root = _root(margins, *sorted(margins)[:2])
        else:
            root, beside = _root(margins, low, high), []
        # The margin is nearly linear in the tangent; the middle is there for when it is not.
        near = [at for at in ((1 - RESOLUTION / 3) * root, (1 + RESOLUTION / 3) * root) if low < at < high]
        tangents = [*beside, *(near if len(near) == 2 else [*near, (low + high) / 2])]


def _first_guess(start: PlaneStart, C0: float, y: int) -> float:
    """Tangent at which first order says that the ball is defeated; some neurons switch on the way there."""
    length = sharp_flip_length(y * start.value, start.gradient, C0)
    angle = math.asin(min(0.7, max(0.1 / math.sqrt(start.d), length)))
    return math.tan(angle) / (1 - angle / math.pi)


def _root(margins: Mapping[float, float], low: float, high: float) -> float:
    """Where the line through the margins at two tangents is zero; NaN where there is none."""
    fall = margins[low] - margins[high]
    return low + (high - low) * margins[low] / fall if fall > 0 else math.nan


def at_lower_end(balls: Mapping[int, tuple[float, ...]]) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4.

    Args:
        balls: input dimension -> radii of the balls, times sqrt m.
    """
    # 72 draws without exception, 18 on each of 4 seeds, show a probability above 0.95. At the smallest
    # dimensions draws cost nothing.
    return tuple(
        {"d": d, "m": math.ceil(d**2.4), "draws": 100 if d < 200 else 18, "C0": C0} for d, C0 in balls.items()
    )


_BASE = EveryNetConfig(d=64, m=math.ceil(64**2.4))
_SMALL, _FIGURES, _BOTH = (1.0,), (10.0,), (1.0, 10.0)

EVERY_NET = Experiment(
    name="lazy.every-net",
    title="At the lower end of the window, is any net of the lazy ball robust at a radius of order 1/sqrt d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=_BASE,
            points=at_lower_end(dict.fromkeys((25, 64, 100), _SMALL)),
            seeds=4,
            cell_seconds=0.05,
        ),
        "quick": Preset(
            config=_BASE,
            points=at_lower_end(
                {**dict.fromkeys((25, 64, 100, 196), _SMALL), 324: _FIGURES, 400: _FIGURES, 784: _BOTH}
            ),
            seeds=4,
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=_BASE,
            points=at_lower_end(
                {
                    **dict.fromkeys((25, 64, 100, 196), _SMALL),
                    **dict.fromkeys((324, 400, 784, 1156, 1600), _BOTH),
                }
            ),
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
