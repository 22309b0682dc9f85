"""Checks on the drift of <w_i, M w*>, one step and its sum over clean training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.papers.purification.bounds_hypotheses import late, of_the_data
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import average, each, halfway
from karat.papers.purification.experiments.drift import DRIFT, PURE, QUIET, DriftResult
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import SHARE, Finding, Unit
from karat.study.hypothesis import Condition, waived
from karat.study.judging import Undecided, all_of, exact_bound, noted, one_constant
from karat.study.run import Run, examples

DriftRuns = Sequence[Run[StepConfig, DriftResult]]

INNER = Unit("inner product")
SHORT = Unit("shortfall over the largest growth")
ROUNDING = 1e-6
"""Gates below it count as closed in the fast pass, in units of the largest growth."""


def _some(every: DriftRuns, start: str) -> list[Run[StepConfig, DriftResult]]:
    runs = [run for run in every if run.config.start == start and run.config.sigma_x == 0]
    if not runs:
        raise Undecided("no run of the setting that is judged has finished")
    return runs


def _step(every: DriftRuns) -> Finding:
    """The worst neuron's step against decay and one-sided growth on the same points, at every stop."""
    runs = [run for run in every if run.config.sigma_x == 0]
    if not runs:
        raise Undecided("no run without input noise has finished")
    short = [
        miss / growth
        for run in runs
        for miss, growth in zip(run.result.shortfall, run.result.largest_growth, strict=True)
    ]
    return noted(
        exact_bound(short, "at most", ROUNDING, SHORT, "a step and its bound on the same points"),
        f"{len(runs)} nets from random and pure starts, {len(short)} steps, every neuron; the slack reaches "
        f"{-min(short):.2g} of the largest growth.",
    )


def _late(every: DriftRuns) -> Finding:
    """From pure rows: the sum as one constant times k d, beyond that of the start; no neuron below 0."""
    runs = _some(every, "pure")

    def in_units(run: Run[StepConfig, DriftResult]) -> float:
        return (run.result.sure_total[-1] - run.result.start_total) / (run.config.k * run.config.d)

    d, sums = curves(runs, lambda run: float(run.config.d), in_units)
    lowest = [low for run in runs for low in run.result.lowest]
    listed = ", ".join(f"{value:.3f}" for value in np.mean(sums, axis=0))
    return noted(
        all_of(
            one_constant(d, sums, "at least", halfway(0.5, "a sum of order d, without the factor k")),
            exact_bound(lowest, "at least", 0.0, INNER, "every neuron of every net"),
        ),
        f"Sum of <w_i, M w*> beyond that of the start: {listed} k d "
        f"from d = {d[0]:g} to {d[-1]:g}; smallest component {min(lowest):.3f}.",
    )


def _floor_of_zero(every: DriftRuns) -> Finding:
    """The smallest component after a random start without input noise."""
    runs = _some(every, "random")
    share = average(each(runs, lambda r: r.negative[-1]))
    lowest = each(runs, lambda r: r.lowest[-1])
    return noted(
        exact_bound(lowest, "at least", 0.0, INNER, "every neuron of every net"),
        f"A share {share:.3f} of the neurons ends below 0, the lowest at {min(lowest):.3g}.",
    )


def _floor_of_start(every: DriftRuns) -> Finding:
    """No component falls below the smaller of 0 and its start; some stay negative."""
    runs = _some(every, "random")
    below = [value for run in runs for value in run.result.below_start]
    return all_of(
        exact_bound(below, "at most", ROUNDING, INNER, "every neuron at every stop"),
        exact_bound(each(runs, lambda r: r.negative[-1]), "at least", ROUNDING, SHARE, "counted"),
    )


def _late_conditions(config: StepConfig) -> list[Condition]:
    start = "Sec 4.1: random start w ~ N(0, sigma_0^2 I)"
    sentence = "'even if we use w_i = M_i as initialization ... will still accumulate' (Sec 6.2)"
    return [
        *of_the_data(config.d, config.k),
        *([waived(start, sentence)] if config.start == "pure" else []),
        late(config.theorem_setting()),
    ]


def _cells(settings: dict[str, Any], **values: Any) -> list[tuple[StepConfig, DriftResult]]:
    usual = {
        "shortfall": [0.0],
        "largest_growth": [1.0],
        "lowest": [0.1],
        "below_start": [-0.1],
        "negative": [0.2],
    }
    return [
        (
            StepConfig(d=d, k=k, **settings),
            made_up(DriftResult, **({"sure_total": [0.1 * k * d]} | usual | values)),
        )
        for d, k in ((50, 7), (100, 9), (200, 14))
    ]


_RANDOM_STEPS = Control(
    name="random labels",
    removes="labels",
    settings={"step_labels": "random"},
    cheap={"batch": 256},
    why="A step on labels of a coin does not push <w_i, M w*> by what the true labels promise.",
)
_REVERSED = Control(
    name="reversed labels",
    removes="sign",
    settings={"step_labels": "reversed"},
    cheap={"batch": 256},
    why="Trained on reversed labels the awake neurons are pushed away from M w*.",
)
_UNTRAINED = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0},
    cheap={"batch": 256},
    why="Pure rows before training have no sum beyond that of the start.",
    unanswered=True,
)

CHECKS = (
    Check(
        claim_id="purification.claimE.3",
        experiment=DRIFT,
        evaluate=_step,
        satisfied=examples(*_cells(PURE), *_cells(QUIET)),
        violated=examples(*_cells(PURE, shortfall=[0.8])),
        controls=(_RANDOM_STEPS, _REVERSED),
        reading="Without input noise, where no error term is left: E is the mean over the points of the "
        "step. The claim then needs neither a start nor a schedule, and every neuron of every net counts. "
        "Its noise term is not looked at.",
    ),
    Check(
        claim_id="purification.lemE.2",
        experiment=DRIFT,
        evaluate=_late,
        conditions=_late_conditions,
        satisfied=examples(*_cells(PURE)),
        violated=examples(*_cells(PURE, sure_total=[5.0])),
        controls=(_UNTRAINED, _REVERSED),
        reading="From pure rows, each the one sure winner of its feature, without input noise: the floor is "
        "0. Xi2 = d^(2 gamma c0) is 1 there. Of the sum only what training added counts.",
    ),
    Check(
        claim_id="purification.lemE.2.zero",
        experiment=DRIFT,
        evaluate=_floor_of_zero,
        conditions=_late_conditions,
        satisfied=examples(*_cells(QUIET)),
        violated=examples(*_cells(QUIET, lowest=[-0.1])),
        controls=(_REVERSED,),
        reading="O(0) is 0.",
    ),
    Check(
        claim_id="purification.lemE.2.start",
        experiment=DRIFT,
        evaluate=_floor_of_start,
        conditions=_late_conditions,
        satisfied=examples(*_cells(QUIET)),
        violated=examples(*_cells(QUIET, below_start=[0.1])),
        controls=(_REVERSED,),
        reading="Claim E.3 step by step: decay pulls towards 0 and growth is not negative.",
    ),
)
