"""Checks on how fast coordinates grow, and how long accuracy waits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.purification.checks.lottery import TIMES
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    algorithm_conditions,
    each,
    halfway,
    largest_standard,
    lottery_conditions,
    mean,
    over_d,
)
from karat.papers.purification.experiments.kinetics import KINETICS, KineticsResult
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding, Margin, Unit
from karat.study.hypothesis import Condition, at_least
from karat.study.judging import Undecided, all_of, bound, equal, noted, one_constant
from karat.study.run import Run, examples

KineticsRun = Run[StepConfig, KineticsResult]
Curve = Callable[[KineticsResult], list[float]]

SPARSITY = halfway(0.25, "the trivial limit d E|z_j|, sqrt(k) = d^0.25")
"""Over d with k ~ sqrt(d), what does not depend on the size must not grow like its trivial limit."""


def _early(run: KineticsRun, curve: Curve) -> list[float]:
    """A curve over the first phase, t <= T_b."""
    last = run.config.phases().T_b
    return [value for time, value in zip(run.result.time, curve(run.result), strict=True) if time <= last]


def _early_mean(run: KineticsRun, curve: Curve) -> float:
    return float(np.mean(_early(run, curve)))


def _trained(every: Sequence[KineticsRun]) -> list[KineticsRun]:
    """The runs that go beyond the first phase."""
    runs = [run for run in every if run.config.clean_steps > run.config.step_at(run.config.phases().T_e)]
    return runs or list(every)


def _rates(every: Sequence[KineticsRun]) -> Finding:
    """Growth of the others over that of winners, in units of k log(d)/d: one constant over d."""

    def slower(run: KineticsRun) -> float:
        winners, others = (
            _early_mean(run, curve) for curve in (lambda r: r.sure_growth, lambda r: r.loser_growth)
        )
        return others / winners / (run.config.k / run.config.d * math.log(run.config.d))

    d, table = over_d(every, slower)
    return noted(
        one_constant(d, table, "at most", halfway(0.5, "a ratio that does not depend on d")),
        "Root mean square of the others over the mean of sure winners up to T_b, in units of k log(d)/d, "
        f"from the smallest to the largest d: {_means(table)}.",
    )


def _chance(every: Sequence[KineticsRun]) -> Finding:
    """Largest distance of the accuracy from one half while t <= T_b."""
    runs = largest_standard(_trained(every))
    early = [_early(run, lambda r: r.accuracy) for run in runs]
    first, last = (np.mean([accuracy[i] for accuracy in early]) for i in (0, -1))
    final = np.mean(each(runs, lambda r: r.accuracy[-1]))
    distance = [max(abs(value - 0.5) for value in accuracy) for accuracy in early]
    return noted(
        bound(distance, "at most", 0.1, Unit("distance of the accuracy from 1/2", 0.0, 0.5)),
        f"Up to T_b, {len(early[0]) - 1} steps, it goes from {first:.3f} to {last:.3f}; it ends at "
        f"{final:.3f}.",
    )


def _winner_growth(every: Sequence[KineticsRun]) -> Finding:
    """d times the growth of sure winners in the first phase: one constant from below and from above."""
    d, low = over_d(every, lambda run: _early_mean(run, lambda r: r.sure_growth_low))
    _, middle = over_d(every, lambda run: _early_mean(run, lambda r: r.sure_growth))
    return noted(
        all_of(
            one_constant(d, low, "at least", SPARSITY),
            one_constant(d, middle, "at most", SPARSITY),
        ),
        f"d times the expectation up to T_b, from the smallest to the largest d: 90% of sure winners exceed "
        f"{_means(low)}, their mean is {_means(middle)}.",
    )


def _largest_growth(every: Sequence[KineticsRun]) -> Finding:
    """d times the largest growth: it must not grow with the size as its trivial limit does."""
    d, table = over_d(every, lambda run: _early_mean(run, lambda r: r.largest_growth))
    _, most = over_d(every, lambda run: _early_mean(run, lambda r: r.most_possible))
    return noted(
        one_constant(d, table, "at most", SPARSITY),
        f"d times the largest expectation up to T_b, from the smallest to the largest d: {_means(table)}; "
        f"trivial limit d E|z_j|/2: {_means(most)}.",
    )


def _other_growth(every: Sequence[KineticsRun]) -> Finding:
    """Growth of all that are no potential winners over Gamma_t log d: one constant over d."""

    def in_units(run: KineticsRun) -> float:
        gate = _early_mean(run, lambda r: r.gate)
        return _early_mean(run, lambda r: r.loser_growth) / (gate * math.log(run.config.d))

    d, table = over_d(every, in_units)
    return noted(
        one_constant(d, table, "at most", SPARSITY),
        f"Root mean square up to T_b, in units of Gamma_t log d: {_means(table)}.",
    )


def _coupling(every: Sequence[KineticsRun]) -> Finding:
    """The spread of the winners' growth around their common rate, relative to it."""
    runs = largest_standard(_trained(every))
    config = runs[0].config
    spread, grown = each(runs, lambda r: r.coupling_spread[-1]), mean(runs, lambda r: r.grown[-1])
    if not grown:
        raise Undecided("no winner has grown beyond 2 sqrt(k) b")
    allowed = Margin(config.k**1.5 / config.d, "k^1.5/d^2 over a growth 1/d, what the lemma itself allows")
    return noted(equal(spread, 0.0, allowed, RATIO), f"{grown:.0f} winners exceed 2 sqrt(k) b.")


def _awake(every: Sequence[KineticsRun]) -> Finding:
    """Neurons that an input brings near the threshold, in units of k: one constant over d."""
    d, table = over_d(_trained(every), lambda run: run.result.awake_count[-1] / run.config.k)
    return noted(
        one_constant(d, table, "at most", halfway(0.5, "a share of all neurons, d/k")),
        "Neurons with |<w_i, x>| >= b/10 in units of k, from the smallest to the largest d: "
        f"{_means(table)}.",
    )


def _means(table: Sequence[Sequence[float]]) -> str:
    """Means over seeds, as a list for the caveat."""
    return ", ".join(f"{np.mean(column):.3g}" for column in zip(*table, strict=True)) or "unknown"


def _ordinary(run: KineticsRun) -> list[Condition]:
    """What the lemmas on the first phase suppose of the neurons."""
    share = min(_early(run, lambda r: r.ept), default=0.0)
    return [at_least("Lem C.8: S_ept = [m] at every t <= T_b, as a share", share, 1.0)]


def _cells(**values: Callable[[int, int], float]) -> list[tuple[StepConfig, KineticsResult]]:
    """Four sizes at one stop: name of a curve -> its value at (d, k)."""
    rest: dict[str, Any] = {"time": [0.0], "most_possible": [1.0], "gate": [0.01], "ept": [1.0]}
    return [
        (
            StepConfig(d=d, k=k),
            made_up(KineticsResult, **(rest | {name: [value(d, k)] for name, value in values.items()})),
        )
        for d, k in ((50, 7), (100, 9), (200, 14), (400, 19))
    ]


def _one_stop(**values: list[float]) -> tuple[StepConfig, KineticsResult]:
    return StepConfig(d=200, k=14), made_up(KineticsResult, time=[0.0], **values)


def _constant(size: float) -> Callable[[int, int], float]:
    return lambda d, k: size


def _root(size: float) -> Callable[[int, int], float]:
    return lambda d, k: size * math.sqrt(d)


_CHEAP = {"batch": 256, "n_test": 500}
_NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0},
    cheap=_CHEAP,
    why="At the start no winner has grown, and a share of all neurons is near its threshold.",
)
_RANDOM_LABELS = Control(
    name="random labels",
    removes="labels",
    settings={"step_labels": "random"},
    cheap={**_CHEAP, "clean_steps": 2},
    why="Labels of a coin push no coordinate: what is left is sampling noise, which is not of order 1/d.",
)
_NO_PUSH = replace(
    _RANDOM_LABELS,
    why="Labels of a coin push no coordinate: sampling noise of either sign need not follow any power law.",
    unanswered=True,
)
_LARGE_START = Control(
    name="large start",
    removes="scale",
    settings={"init_scale": 0.1},
    cheap={**_CHEAP, "d": 50, "k": 7, "n_test": 1000},
    why="With weights of order one T_b is long after the features are learned.",
)

CHECKS = (
    Check(
        claim_id="purification.sec6.kinetics",
        experiment=KINETICS,
        evaluate=_rates,
        conditions=lottery_conditions,
        satisfied=examples(
            *_cells(sure_growth=_constant(1.0), loser_growth=lambda d, k: k / d * math.log(d))
        ),
        violated=examples(*_cells(sure_growth=_constant(1.0), loser_growth=_root(0.1))),
        controls=(_NO_PUSH,),
        reading=f"{TIMES} Winners are S_sure, the others lie outside S_pot; one constant over d.",
    ),
    Check(
        claim_id="purification.sec6.chance",
        experiment=KINETICS,
        evaluate=_chance,
        conditions=lottery_conditions,
        satisfied=examples(_one_stop(accuracy=[0.52])),
        violated=examples(_one_stop(accuracy=[0.8])),
        controls=(_LARGE_START,),
        reading=f"{TIMES} sign(0) = +1, so that a net asleep predicts +1. 'Around 50%' is read as within "
        "10%.",
    ),
    Check(
        claim_id="purification.lemC.8",
        experiment=KINETICS,
        evaluate=_winner_growth,
        conditions=algorithm_conditions,
        observed=_ordinary,
        satisfied=examples(*_cells(sure_growth=_constant(0.1), sure_growth_low=_constant(0.05))),
        violated=examples(*_cells(sure_growth=_root(0.1), sure_growth_low=_root(0.05))),
        controls=(_RANDOM_LABELS,),
        reading=f"{TIMES} Every winner is read as 90% of them, sampling noise being what it is.",
    ),
    Check(
        claim_id="purification.lemC.9",
        experiment=KINETICS,
        evaluate=_largest_growth,
        conditions=algorithm_conditions,
        observed=_ordinary,
        satisfied=examples(*_cells(largest_growth=_constant(0.1))),
        violated=examples(*_cells(largest_growth=_root(0.1))),
        controls=(_RANDOM_LABELS,),
        reading=f"{TIMES} The largest of all m d estimates carries the largest sampling error, which grows "
        "with d.",
    ),
    Check(
        claim_id="purification.lemC.10",
        experiment=KINETICS,
        evaluate=_other_growth,
        conditions=algorithm_conditions,
        observed=_ordinary,
        satisfied=examples(*_cells(loser_growth=lambda d, k: 0.01 * math.log(d))),
        violated=examples(*_cells(loser_growth=_root(0.1))),
        controls=(_NO_PUSH,),
        reading=f"{TIMES} Gamma_t is read as the mean activation probability, which is below it; every "
        "coordinate as their root mean square.",
    ),
    Check(
        claim_id="purification.lemC.18",
        experiment=KINETICS,
        evaluate=_coupling,
        conditions=lottery_conditions,
        satisfied=examples(_one_stop(coupling_spread=[0.01], grown=[10.0])),
        violated=examples(_one_stop(coupling_spread=[0.9], grown=[10.0])),
        controls=(replace(_NO_TRAINING, why="At the start no winner has grown.", unanswered=True),),
        reading="The mean over winners, relative to their growth; the constant of O(.) is taken as 1.",
    ),
    Check(
        claim_id="purification.lemC.19",
        experiment=KINETICS,
        evaluate=_awake,
        conditions=lottery_conditions,
        satisfied=examples(*_cells(awake_count=lambda d, k: 5.0 * k)),
        violated=examples(*_cells(awake_count=lambda d, k: 0.5 * d)),
        controls=(_NO_TRAINING,),
        reading="The mean over inputs; Xi2 is a constant.",
    ),
)
