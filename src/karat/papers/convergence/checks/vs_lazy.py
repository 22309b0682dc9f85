"""Checks of the question that lazy and convergence answer differently: a robust net near the start."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.checks.vs_lazy_runs import (
    EXAMPLE,
    MEASURED,
    SMALL,
    VsLazyRun,
    images,
    radius,
    started,
)
from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.vs_lazy import VS_LAZY, VsLazyResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import LOSS, Finding, Margin
from karat.study.hypothesis import Condition, at_most, is_so
from karat.study.judging import Undecided, all_of, exact_bound, noted, rate
from karat.study.run import examples

ZERO_FUNCTION_LOSS = math.log(2)
"""Loss of the zero function: a robust loss above it proves that some training point is misclassified."""

ROUNDING = 1e-5
"""By which single precision may turn a bound that is met."""

HALFWAY = Margin(0.25, "half-way between the exponents in question, 0 and -1/2")


def _dissolved(runs: Sequence[VsLazyRun]) -> Finding:
    """Exponent of the smallest flip radius in the network's d, paired against unpaired."""
    padded = [run for run in runs if run.config.padded_from is not None]
    if not padded:
        raise Undecided("no run has zero-padded images")
    paired = rate(*_radii(started(padded, "paired")), 0.0, HALFWAY)
    # Lazy's theorem bounds the radius from above: a steeper fall is no contradiction.
    unpaired = rate(*_radii(started(padded, "gaussian")), -HALFWAY.size, "at most")
    return noted(
        all_of(paired, unpaired),
        "Exponent in d of the smallest flip radius of the most robust net found, the same data "
        f"zero-padded: {paired} for the paired start, {unpaired} for the unpaired one.",
        "Radii are those at which an attack succeeds, medians over test images: upper bounds.",
    )


def _radii(runs: Sequence[VsLazyRun]) -> tuple[list[float], list[list[float]]]:
    """Dimensions and flip radii, a row per seed."""
    return curves(runs, lambda run: run.config.side**2, lambda run: _defined(run.result.flip_radius))


def _defined(value: float | None) -> float:
    return math.nan if value is None else value


def _none(runs: Sequence[VsLazyRun]) -> Finding:
    """Certified lower bounds on the robust loss of every net of the unpaired ball, below the threshold."""
    unpaired = started(images(runs), "gaussian")
    if not unpaired:
        raise Undecided("no run has images as they are")
    radii, threshold = sorted(set(map(radius, unpaired))), _threshold(unpaired[0].config)
    # The largest ball inside the regime is the hardest one for the claim.
    largest = max((size for size in radii if size <= threshold), default=radii[0])
    hardest = [run for run in unpaired if radius(run) == largest]
    lower = [run.result.bound for run in hardest]
    if any(run.result.bound > run.result.loss + ROUNDING for run in hardest):
        raise Undecided("a net of the ball has a smaller loss than the bound that should lie below all")
    found = min(run.result.loss for run in hardest)
    why = "a convex problem bounds every net of the ball"
    return noted(
        exact_bound(lower, "at least", ZERO_FUNCTION_LOSS, LOSS, why),
        f"Best robust loss of the ball C0 = {largest:g}: certified at least {min(lower):.2f}, found "
        f"{found:.2f}.",
    )


def _threshold(config: VsLazyConfig) -> float:
    return config.tau * math.sqrt(2 * config.side**2)


def _lazy_regime(config: VsLazyConfig) -> list[Condition]:
    return [
        at_most("C0 <= tau sqrt(2 d)", config.C0, _threshold(config)),
        is_so("unpaired start", config.start == "gaussian"),
    ]


_UNPAIRED = replace(EXAMPLE, start="gaussian")


def _dimensions(config: VsLazyConfig, power: float) -> list[tuple[VsLazyConfig, VsLazyResult]]:
    """Runs on padded images whose flip radius follows a power of d."""
    return [
        (replace(config, side=side, padded_from=10), replace(MEASURED, flip_radius=side ** (2 * power)))
        for side in (10, 14, 20)
    ]


CHECKS = (
    Check(
        claim_id="convergence.vs-lazy",
        experiment=VS_LAZY,
        evaluate=_dissolved,
        satisfied=examples(*_dimensions(EXAMPLE, 0.0), *_dimensions(_UNPAIRED, -0.5)),
        violated=examples(*_dimensions(EXAMPLE, -0.5), *_dimensions(_UNPAIRED, -0.5)),
        controls=(
            Control(
                name="no pairs",
                removes="structure",
                settings={"start": "gaussian"},
                cheap={**SMALL, "C0": 8.0, "padded_from": 7},
                why="an unpaired start keeps its gradient of sqrt(d/2)",
            ),
        ),
        reading="The quantity lazy's proof lives on is |grad f(W0)| ~ sqrt(d/2); pairing makes it 0. The "
        "flip radius is the smallest one at which PGD or PGD on noisy copies changes the prediction, its "
        "median over test images.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.none",
        experiment=VS_LAZY,
        evaluate=_none,
        conditions=_lazy_regime,
        satisfied=examples((_UNPAIRED, replace(MEASURED, loss=0.8, bound=0.7))),
        violated=examples((_UNPAIRED, replace(MEASURED, loss=0.8, bound=0.69))),
        controls=(
            Control(
                name="pairs",
                removes="structure",
                settings={"start": "paired"},
                cheap={**SMALL, "C0": 4.0, "side": 28, "padded_from": None},
                why="a paired ball holds nets of smaller loss than the zero function",
            ),
        ),
        reading="Certified for every net of the ball, not only linearised ones: a convex problem over "
        "finitely many attacked points, with the largest gain that switching neurons can bring.",
        headline=True,
    ),
)
