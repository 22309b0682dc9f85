"""Checks of adversarial training inside the ball: where robustness ends, and how much movement it needs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.made_up import trained_runs
from karat.papers.lazy.checks.powers import LARGE_D, QUARTER
from karat.papers.lazy.checks.trained import NO_THRESHOLD, NO_TRAINING, TrainedRun, robust_accuracy
from karat.papers.lazy.experiments.adversarial import MOVEMENT, RADIUS
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import crossings
from karat.study.finding import ACCURACY, RATIO, Finding, Margin, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, bound, equal, noted, rate
from karat.study.run import grouped

Side = Literal["at most", "at least"]
Contour = tuple[list[float], list[list[float]]]
"""The axis, and one row per seed of where robust accuracy crosses a level."""

LEVELS = (0.05, 0.5, 0.8)

SHARP = 1.5
"""Largest ratio of the radii at 5 % and at 80 % robust accuracy that is called a sharp drop."""

PRINTED_RADIUS = Margin(0.5, "half of the last printed digit")

COMPLETE, NONE = 0.95, 0.05
"""Robust accuracies that a figure would show as complete robustness, and as none."""

SLIGHTLY_ABOVE = CONSTANTS["movement"] * 1.2
"""Up to a fifth more than the printed movement is a slight deviation from it."""

WELL_BELOW = CONSTANTS["movement"] * 0.6
"""From here on downwards the movement is smaller than the printed one without doubt."""


def _radii(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Radius times sqrt d at which robust accuracy crosses the level, over d."""
    return _complete(
        crossings(
            runs, lambda run: run.config.d, lambda run: run.config.c, robust_accuracy, level, rising=False
        )
    )


def _movements(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Movement V times sqrt m at which robust accuracy crosses the level, over m."""
    return _complete(
        crossings(
            runs, lambda run: run.config.m, lambda run: run.config.C0, robust_accuracy, level, rising=True
        )
    )


def _complete(contour: Contour) -> Contour:
    """The contour, unless a sweep that has just begun leaves no seed on all of it."""
    if not contour[1]:
        raise Undecided("no seed has run at every point of the grid.")
    return contour


def _over_root(contour: Contour) -> list[list[float]]:
    """The contour divided by the square root of its axis: the radius itself, or the movement itself."""
    axis, table = contour
    return [[value / math.sqrt(at) for value, at in zip(row, axis, strict=True)] for row in table]


def _exponent(
    contours: Callable[[Sequence[TrainedRun], float], Contour], runs: Sequence[TrainedRun]
) -> Finding:
    """Exponent -1/2 of the contour at half robust accuracy; the other contours are told beside it."""
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
    return _exponent(_radii, runs)


def _movement_exponent(runs: Sequence[TrainedRun]) -> Finding:
    return _exponent(_movements, runs)


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


def _movement_edge(runs: Sequence[TrainedRun]) -> Finding:
    """Accuracy slightly above the printed movement is complete, well below it there is none."""
    printed = CONSTANTS["movement"]
    balls = sorted({run.config.C0 for run in runs})
    above = [radius for radius in balls if printed < radius <= SLIGHTLY_ABOVE]
    below = [radius for radius in balls if radius <= WELL_BELOW]
    if not above or not below:
        raise Undecided(f"no ball slightly above {printed:g} and another well below it were run.")
    return all_of(
        _accuracy_at(runs, above[0], "at least", COMPLETE), _accuracy_at(runs, below[-1], "at most", NONE)
    )


def _accuracy_at(runs: Sequence[TrainedRun], C0: float, side: Side, level: float) -> Finding:
    """Robust accuracy in one ball, averaged over widths seed by seed."""
    by_seed = grouped([run for run in runs if run.config.C0 == C0], lambda run: run.seed)
    accuracies = [sum(map(robust_accuracy, cells)) / len(cells) for cells in by_seed.values()]
    finding = bound(accuracies, side, level, ACCURACY)
    return noted(finding, f"Robust accuracy {finding} at C0 = {C0:g}.")


def _stopped(run: TrainedRun) -> Sequence[Condition]:
    name = "training stops because robust training accuracy no longer rises"
    return [
        is_so(name, run.result.epochs < run.config.epochs, f"up to {run.config.epochs} epochs were allowed")
    ]


def _falling(middle: Callable[[int], float]) -> list[TrainedRun]:
    """Accuracy falls sharply through one half at a radius times sqrt d that may depend on the side."""
    drop = {0.8: 1.0, 0.95: 0.9, 1.0: 0.5, 1.05: 0.1, 1.1: 0.0}
    return trained_runs(
        ({"side": side, "c": middle(side) * at}, accuracy)
        for side in (14, 20, 28)
        for at, accuracy in drop.items()
    )


def _rising(middle: Callable[[int], float]) -> list[TrainedRun]:
    """Accuracy rises through one half at a movement times sqrt m that may depend on the width."""
    rise = {0.6: 0.0, 0.8: 0.2, 1.0: 0.6, 1.1: 1.0}
    return trained_runs(
        ({"side": 28, "m": m, "C0": middle(m) * at}, accuracy)
        for m in (64, 256, 1024)
        for at, accuracy in rise.items()
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
    Check(
        claim_id="lazy.fig4.movement",
        experiment=MOVEMENT,
        evaluate=_movement_exponent,
        satisfied=_rising(lambda m: 25.0),
        violated=_rising(lambda m: math.sqrt(m)),
        controls=(NO_THRESHOLD,),
        reported="~ 1/sqrt m",
        reading="Movement V at which robust accuracy crosses 50 %.",
        headline=True,
    ),
    Check(
        claim_id="lazy.fig4.edge",
        experiment=MOVEMENT,
        evaluate=_movement_edge,
        observed=_stopped,
        satisfied=_rising(lambda m: 25.0),
        violated=trained_runs([({"side": 28, "C0": 15.0}, 0.3), ({"side": 28, "C0": 27.5}, 0.6)]),
        controls=(NO_TRAINING,),
        reported=CONSTANTS["movement"],
        reading="Slightly above 25/sqrt m (up to a fifth) nets are completely robust, at least 95 %; well "
        "below, at 15 and less, at most 5 % is left.",
    ),
)
