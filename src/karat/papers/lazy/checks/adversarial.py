"""Checks of adversarial training inside the ball: at which radius robustness ends."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.made_up import trained_runs
from karat.papers.lazy.checks.powers import LARGE_D, QUARTER
from karat.papers.lazy.checks.trained import NO_THRESHOLD, TrainedRun, robust_accuracy
from karat.papers.lazy.experiments.adversarial import RADIUS
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import crossings
from karat.study.finding import RATIO, Finding, Margin, Unit
from karat.study.judging import Undecided, all_of, bound, equal, noted, rate

Contour = tuple[list[float], list[list[float]]]
"""The axis, and one row per seed of where robust accuracy crosses a level."""

LEVELS = (0.05, 0.5, 0.8)

SHARP = 1.5
"""Largest ratio of the radii at 5 % and at 80 % robust accuracy that is called a sharp drop."""

PRINTED_RADIUS = Margin(0.5, "half of the last printed digit")


def _radii(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Radius times sqrt d at which robust accuracy crosses the level, over d."""
    return complete(
        crossings(
            runs, lambda run: run.config.d, lambda run: run.config.c, robust_accuracy, level, rising=False
        )
    )


def complete(contour: Contour) -> Contour:
    """Return the contour, unless a sweep that has just begun leaves no seed on all of it.

    Args:
        contour: an axis, and one row per seed.
    """
    if not contour[1]:
        raise Undecided("no seed has run at every point of the grid.")
    return contour


def _over_root(contour: Contour) -> list[list[float]]:
    """The contour divided by the square root of its axis: the radius itself, or the movement itself."""
    axis, table = contour
    return [[value / math.sqrt(at) for value, at in zip(row, axis, strict=True)] for row in table]


def exponent(
    contours: Callable[[Sequence[TrainedRun], float], Contour], runs: Sequence[TrainedRun]
) -> Finding:
    """Return the exponent of the contour at half robust accuracy, against -1/2; others are told beside it.

    Args:
        contours: runs and a level -> where it is crossed.
        runs: of several sizes.
    """
    findings, notes = {}, []
    for level in LEVELS:
        try:
            contour = contours(runs, level)
        except Undecided:  # this level is crossed nowhere on the grid, which the claim survives
            continue
        findings[level] = rate(contour[0], _over_root(contour), -0.5, QUARTER)
        places = [value for row in contour[1] for value in row]
        notes.append(
            f"{level:.0%} contour: exponent {findings[level]} over {len(contour[0])} sizes, at "
            f"{sum(places) / len(places):.2f} over the root."
        )
    if 0.5 not in findings:
        raise Undecided("robust accuracy crosses one half nowhere on the grid.")
    return noted(findings[0.5], *notes)


def _radius_exponent(runs: Sequence[TrainedRun]) -> Finding:
    return exponent(_radii, runs)


def _radius_constant(runs: Sequence[TrainedRun]) -> Finding:
    """Where robust accuracy falls through one half, from d = 100 on, and how sharply it falls."""
    # Tiny presets have small dimensions only, which are better than none.
    large = [run for run in runs if run.config.d >= LARGE_D] or list(runs)
    tables = {level: _radii(large, level)[1] for level in LEVELS}
    by_seed = {level: [sum(row) / len(row) for row in table] for level, table in tables.items()}
    spans = [low / high for low, high in zip(by_seed[0.05], by_seed[0.8], strict=True)]
    means = ", ".join(
        f"{sum(values) / len(values):.2f} at {level:.0%}" for level, values in sorted(by_seed.items())
    )
    first = min(run.config.d for run in large)
    return all_of(
        noted(
            equal(by_seed[0.5], CONSTANTS["radius"], PRINTED_RADIUS, Unit("radius times sqrt d", 0.0)),
            f"Radius times sqrt d, mean over d >= {first}: {means} robust accuracy.",
        ),
        bound(spans, "at most", SHARP, RATIO),
    )


def _falling(middle: Callable[[int], float]) -> list[TrainedRun]:
    """Accuracy falls sharply through one half at a radius times sqrt d that may depend on the side."""
    drop = {0.8: 1.0, 0.95: 0.9, 1.0: 0.5, 1.05: 0.1, 1.1: 0.0}
    return trained_runs(
        ({"side": side, "c": middle(side) * at}, accuracy)
        for side in (14, 20, 28)
        for at, accuracy in drop.items()
    )


_SMALL = {"m": 100, "n": 40, "n_test": 60}

CHECKS = (
    Check(
        claim_id="lazy.fig4.radius",
        experiment=RADIUS,
        evaluate=_radius_exponent,
        satisfied=_falling(lambda side: 4.0),
        violated=_falling(lambda side: 0.3 * side),
        controls=(
            replace(NO_THRESHOLD, cheap=_SMALL),
            Control(
                name="no ball",
                removes="ball",
                settings={"C0": math.inf},
                cheap={**_SMALL, "lr": 0.3},
                why="Without the projection nets withstand radii that do not shrink with d.",
                unanswered=True,  # robust accuracy need not cross the level on this grid then
            ),
        ),
        reported="~ 1/sqrt d",
        reading="Radius at which robust accuracy crosses 50 %, interpolated in log radius; PGD accuracies.",
        headline=True,
    ),
    Check(
        claim_id="lazy.fig4.constant",
        experiment=RADIUS,
        evaluate=_radius_constant,
        satisfied=_falling(lambda side: 5.0),
        violated=_falling(lambda side: 2.0),
        controls=(replace(NO_THRESHOLD, cheap=_SMALL),),
        reported=CONSTANTS["radius"],
        reading="The printed 5/sqrt d read as the place of the drop, where robust accuracy is 50 %, from "
        "d = 100 on; sharp read as: from 80 % to 5 % within a factor 1.5 of the radius.",
    ),
)
