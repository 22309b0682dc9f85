"""Checks of adversarial training in balls of several sizes: how much movement robustness needs."""

import math
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Literal

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.adversarial import Contour, complete, exponent
from karat.papers.lazy.checks.algorithm import GAIN, VISIBLE
from karat.papers.lazy.checks.made_up import trained_runs
from karat.papers.lazy.checks.trained import NO_THRESHOLD, NO_TRAINING, TrainedRun, robust_accuracy
from karat.papers.lazy.experiments.adversarial import MOVEMENT
from karat.study.check import Check
from karat.study.curves import crossings
from karat.study.finding import ACCURACY, Finding
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import grouped

Side = Literal["at most", "at least"]

COMPLETE, NONE = 0.95, 0.05
"""Robust accuracies that a figure would show as complete robustness, and as none."""

SLIGHTLY_ABOVE = CONSTANTS["movement"] * 1.2
"""Up to a fifth more than the printed movement is a slight deviation from it."""

WELL_BELOW = CONSTANTS["movement"] * 0.6
"""From here on downwards the movement is smaller than the printed one without doubt."""


def _movements(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Movement V times sqrt m at which robust accuracy crosses the level, over m."""
    return complete(
        crossings(
            runs, lambda run: run.config.m, lambda run: run.config.C0, robust_accuracy, level, rising=True
        )
    )


def _movement_exponent(runs: Sequence[TrainedRun]) -> Finding:
    return exponent(_movements, runs)


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


def _increase(runs: Sequence[TrainedRun]) -> Finding:
    """Robust accuracy gained from the smallest to the largest ball, and none lost visibly on the way."""
    balls = sorted({run.config.C0 for run in runs})
    if len(balls) < 2:
        raise Undecided("one ball shows no increase.")
    curves = []
    for of_seed in grouped(runs, lambda run: run.seed).values():
        by_ball = grouped(of_seed, lambda run: run.config.C0)
        if set(by_ball) == set(balls):
            curves.append([sum(map(robust_accuracy, by_ball[C0])) / len(by_ball[C0]) for C0 in balls])
    gain = bound([curve[-1] - curve[0] for curve in curves], "at least", VISIBLE.size, GAIN)
    highest = [
        max(range(at + 1), key=lambda ball: mean(curve[ball] for curve in curves))
        for at in range(len(balls) - 1)
    ]
    steps = [
        bound([curve[at + 1] - curve[best] for curve in curves], "at least", -VISIBLE.size, GAIN)
        for at, best in enumerate(highest)
    ]
    listed = ", ".join(
        f"{step} from {balls[best]:g} to {high:g}"
        for step, best, high in zip(steps, highest, balls[1:], strict=True)
    )
    return noted(all_of(gain, *steps), f"Gain {gain} from C0 = {balls[0]:g} to {balls[-1]:g}: {listed}.")


def _rising(middle: Callable[[int], float]) -> list[TrainedRun]:
    """Accuracy rises through one half at a movement times sqrt m that may depend on the width."""
    rise = {0.6: 0.0, 0.8: 0.2, 1.0: 0.6, 1.1: 1.0}
    return trained_runs(
        ({"side": 28, "m": m, "C0": middle(m) * at}, accuracy)
        for m in (64, 256, 1024)
        for at, accuracy in rise.items()
    )


CHECKS = (
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
    Check(
        claim_id="lazy.sec3.movement",
        experiment=MOVEMENT,
        evaluate=_increase,
        satisfied=_rising(lambda m: 25.0),
        violated=trained_runs([({"side": 28, "C0": C0}, 0.5) for C0 in (15.0, 20.0, 27.5)]),
        controls=(NO_TRAINING,),
        reading="Averaged over widths, seed by seed. The gain must be visible, a twentieth, and no ball may "
        "lose as much against the best of the smaller ones.",
    ),
)
