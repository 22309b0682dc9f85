"""Checks of adversarial training inside the ball: contours, constants, and readings of the algorithm."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.corollary import TrainedRun
from karat.papers.lazy.checks.made_up import trained_cell
from karat.papers.lazy.checks.powers import LARGE_D, QUARTER
from karat.papers.lazy.experiments.adversarial import ALGORITHM, BEYOND, MOVEMENT, RADIUS
from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import crossings
from karat.study.finding import ACCURACY, RATIO, Finding, Margin, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, bound, equal, noted, rate
from karat.study.run import examples, grouped

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

SUCCEEDS = 0.9
"""Robust accuracy that is called success: the corollary grants at most 0.1 to every net of the ball."""

VISIBLE = Margin(0.05, "a twentieth is about what one would notice in a figure of accuracies")
GAIN = Unit("difference of accuracies", -1.0, 1.0)


def robust_accuracy(run: TrainedRun) -> float:
    """Return the accuracy that the attack leaves."""
    return run.result.robust_accuracy


def _radii(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Radius times sqrt d at which robust accuracy crosses the level, over d."""
    return crossings(runs, lambda run: run.config.d, lambda run: run.config.c, robust_accuracy, level)


def _movements(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Movement V times sqrt m at which robust accuracy crosses the level, over m."""
    return crossings(runs, lambda run: run.config.m, lambda run: run.config.C0, robust_accuracy, level)


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


def _beyond(runs: Sequence[TrainedRun]) -> Finding:
    """Robust accuracy without the projection, and what it gains over the ball, at the largest dimension."""
    # The sentence is about d = 784; in small dimensions the ball is no obstacle.
    d = max(run.config.d for run in runs)
    gains, accuracies = [], []
    for cells in grouped([run for run in runs if run.config.d == d], lambda run: run.seed).values():
        free = [run for run in cells if math.isinf(run.config.C0)]
        inside = [run for run in cells if math.isfinite(run.config.C0)]
        if free and not inside:
            raise Undecided("a net trained without projection has none inside the ball beside it.")
        if free:
            # The ball of the figures; larger ones are on the way out of the lazy regime.
            smallest = min(inside, key=lambda run: run.config.C0)
            gains.append(robust_accuracy(free[0]) - robust_accuracy(smallest))
            accuracies.append(robust_accuracy(free[0]))
    success = bound(accuracies, "at least", SUCCEEDS, ACCURACY)
    gain = bound(gains, "at least", 0.0, GAIN)
    return all_of(
        noted(success, f"d = {d}: robust accuracy without projection {success}."),
        noted(gain, f"Its gain over the ball: {gain}."),
    )


def _reading(run: TrainedRun) -> tuple[str, str]:
    return run.config.line4, run.config.project


def _line4(runs: Sequence[TrainedRun]) -> Finding:
    """Robust accuracy that the printed line 4 loses against the iterated attack, which must have some."""
    # Equal seeds share start and images, so that readings are compared seed by seed.
    readings = grouped(runs, _reading)
    accuracy = {
        reading: {run.seed: robust_accuracy(run) for run in cells} for reading, cells in readings.items()
    }
    pgd = accuracy.get(("iterated", "step"), {})

    def gain_over_pgd(reading: tuple[str, str]) -> list[float]:
        other = accuracy.get(reading, {})
        return [other[seed] - pgd[seed] for seed in sorted(pgd.keys() & other.keys())]

    moved = equal(gain_over_pgd(("iterated", "epoch")), 0.0, VISIBLE, GAIN)
    return noted(
        all_of(
            equal(gain_over_pgd(("printed", "step")), 0.0, VISIBLE, GAIN),
            bound(list(pgd.values()), "at least", 0.5, ACCURACY),
        ),
        f"Projecting once an epoch instead of every step changes robust accuracy by {moved}.",
    )


def _falling(middle: Callable[[int], float]) -> list[TrainedRun]:
    """Accuracy falls sharply through one half at a radius times sqrt d that may depend on the side."""
    drop = {0.8: 1.0, 0.95: 0.9, 1.0: 0.5, 1.05: 0.1, 1.1: 0.0}
    return _examples(
        ({"side": side, "c": middle(side) * at}, accuracy)
        for side in (14, 20, 28)
        for at, accuracy in drop.items()
    )


def _rising(middle: Callable[[int], float]) -> list[TrainedRun]:
    """Accuracy rises through one half at a movement times sqrt m that may depend on the width."""
    rise = {0.6: 0.0, 0.8: 0.2, 1.0: 0.6, 1.1: 1.0}
    return _examples(
        ({"side": 28, "m": m, "C0": middle(m) * at}, accuracy)
        for m in (64, 256, 1024)
        for at, accuracy in rise.items()
    )


def _examples(cells: Iterable[tuple[dict[str, Any], float]]) -> list[TrainedRun]:
    made: list[tuple[AdversarialTrainingConfig, AdversarialTrainingResult]] = [
        trained_cell(AdversarialTrainingConfig(**settings), accuracy=accuracy) for settings, accuracy in cells
    ]
    return examples(*made)


def _free(accuracy: float) -> list[TrainedRun]:
    return _examples([({"side": 28, "C0": 10.0}, 0.5), ({"side": 28, "C0": math.inf}, accuracy)])


def _printed(accuracy: float) -> list[TrainedRun]:
    iterated = [({"side": 10, "project": project}, 0.7) for project in ("step", "epoch")]
    return _examples([*iterated, ({"side": 10, "line4": "printed"}, accuracy)])


# One epoch with a step of nothing.
NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"lr": 1e-9, "epochs": 1, "m": 100, "n": 40, "n_test": 60},
    why="Untrained nets are right on half of the images and robust nowhere.",
)

CHECKS = (
    Check(
        claim_id="lazy.fig4.radius",
        experiment=RADIUS,
        evaluate=_radius_exponent,
        satisfied=_falling(lambda side: 4.0),
        violated=_falling(lambda side: 0.3 * side),
        controls=(
            NO_TRAINING,
            Control(
                name="no ball",
                removes="ball",
                settings={"C0": math.inf, "m": 200, "n": 100, "n_test": 60, "lr": 0.3},
                why="Without the projection nets withstand radii that do not shrink with d.",
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
        controls=(NO_TRAINING,),
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
        controls=(NO_TRAINING,),
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
        violated=_examples([({"side": 28, "C0": 15.0}, 0.3), ({"side": 28, "C0": 27.5}, 0.6)]),
        controls=(NO_TRAINING,),
        reported=CONSTANTS["movement"],
        reading="Slightly above 25/sqrt m (up to a fifth) nets are completely robust, at least 95 %; well "
        "below, at 15 and less, at most 5 % is left.",
    ),
    Check(
        claim_id="lazy.sec5.2.beyond",
        experiment=BEYOND,
        evaluate=_beyond,
        satisfied=_free(0.98),
        violated=_free(0.3),
        controls=(NO_TRAINING,),
        reading="The same training without projection, at a radius where the ball is an obstacle. Success is "
        "a robust accuracy of 0.9, and it must be a gain over the ball.",
    ),
    Check(
        claim_id="lazy.alg1.line4",
        experiment=ALGORITHM,
        evaluate=_line4,
        satisfied=_printed(0.7),
        violated=_printed(0.3),
        controls=(NO_TRAINING,),
        reading="Line 4 as printed takes every gradient at x, so that its 100 iterations are one "
        "step of 2.5 R/100. The iterated attack must make nets robust at all, or nothing is compared.",
    ),
)
