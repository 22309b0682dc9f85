"""Checks on the linear net that clean training is compared with, by formulas."""

import itertools
import math
from collections.abc import Callable, Sequence

from karat.core.statistics import fit_power_law
from karat.papers.purification.bounds_second_phase import of_the_coupling
from karat.papers.purification.experiments.coupling import (
    COUPLING_LOSS,
    COUPLING_WEIGHTS,
    LossConfig,
    LossResult,
    WeightsConfig,
    WeightsResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import EXPONENT, Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import Undecided, all_of, exact_bound, noted
from karat.study.run import Run, examples

WeightRun = Run[WeightsConfig, WeightsResult]
LossRuns = Sequence[Run[LossConfig, LossResult]]

HALF = 0.5
"""Half-way to a bound that is wrong by one power of alpha."""


def _growth(runs: Sequence[WeightRun], value: Callable[[WeightsResult], float]) -> list[float]:
    """Exponents in d of a ratio between neighbouring dimensions."""
    ordered = sorted({run.config.digits: run for run in runs}.values(), key=lambda run: run.config.digits)
    if len(ordered) < 3:
        raise Undecided("fewer than three dimensions have finished")
    return [
        (value(late.result) - value(early.result)) / (late.config.log_d - early.config.log_d)
        for early, late in itertools.pairwise(ordered)
    ]


def _weights(cubes: Callable[[WeightsResult], float]) -> Callable[[Sequence[WeightRun]], Finding]:
    """Both sums over their formulas must not grow with d."""

    def evaluate(runs: Sequence[WeightRun]) -> Finding:
        squares, third = _growth(runs, lambda r: r.squares), _growth(runs, cubes)
        return noted(
            all_of(
                exact_bound(squares, "at most", 0.0, EXPONENT, "Gaussian tails"),
                exact_bound(third, "at most", 0.0, EXPONENT, "Gaussian tails"),
            ),
            f"Exponents in d of the sums over their formulas: squares {squares[-1]:.2g}, cubes "
            f"{third[-1]:.2g}, where gamma c0 is {runs[0].config.gamma * runs[0].config.c0:.2g}.",
        )

    return evaluate


def _started(run: WeightRun) -> list[Condition]:
    """The event of Lemma B.2 and the size of its constants."""
    config = run.config
    return [
        at_least(
            "Lem B.2: log of the sure winners of a feature", run.result.sure, math.log(4 * config.log_d)
        ),
        at_most("Lem B.2: Xi2^100 <= d^c0, i.e. 200 gamma <= 1", 200 * config.gamma, 1.0),
    ]


def _by_alpha(every: LossRuns, kind: tuple[int | None, float]) -> LossRuns:
    runs = [run for run in every if _kind(run.config) == kind]
    if len(runs) < 3:
        raise Undecided("fewer than three factors alpha have finished")
    return sorted(runs, key=lambda run: run.config.alpha)


def _kind(config: LossConfig) -> tuple[int | None, float]:
    return config.k, config.small_spread


def _in_the_limit(every: LossRuns) -> LossRuns:
    kinds = sorted({_kind(run.config) for run in every if run.config.k is None})
    if len(kinds) != 1:
        raise Undecided(f"the limit of large k needs one law of small codes, got {len(kinds)}")
    return _by_alpha(every, kinds[0])


def _slope(runs: LossRuns, formula: Callable[[LossConfig], float]) -> float:
    alpha = [run.config.alpha for run in runs]
    return fit_power_law(alpha, [run.result.loss / formula(run.config) for run in runs], 0.95).exponent


def _squared(every: LossRuns) -> Finding:
    """The loss over 1/alpha^2 + 1/Xi2^2 with Xi2 = alpha."""
    runs = _in_the_limit(every)
    slope = _slope(runs, lambda c: 2 / c.alpha**2)
    return noted(
        exact_bound([slope], "at most", HALF, EXPONENT, "an integral without sampling"),
        f"alpha times the loss: {_listed(runs)} at alpha = {', '.join(f'{r.config.alpha:g}' for r in runs)}.",
    )


def _listed(runs: LossRuns) -> str:
    return ", ".join(f"{run.config.alpha * run.result.loss:.3f}" for run in runs)


def _first_power(every: LossRuns) -> Finding:
    """The loss over 1/alpha + 1/sqrt(k) + 1/Xi2^2 for every law, and over 1/alpha from below for large k."""

    def formula(config: LossConfig) -> float:
        sparse = 0.0 if config.k is None else 1 / math.sqrt(config.k)
        return 1 / config.alpha + sparse + 1 / config.alpha**2

    kinds = {_kind(run.config) for run in every}
    slopes = [_slope(_by_alpha(every, kind), formula) for kind in kinds]
    large = _in_the_limit(every)
    below = _slope(large, lambda c: 1 / c.alpha)
    return noted(
        all_of(
            exact_bound(slopes, "at most", HALF, EXPONENT, "an integral without sampling"),
            exact_bound([below], "at least", -HALF, EXPONENT, "an integral without sampling"),
        ),
        f"alpha times the loss for large k: {_listed(large)}.",
    )


def _conditions(config: LossConfig) -> list[Condition]:
    return [of_the_coupling()]


def _sums(power: float) -> list[tuple[WeightsConfig, WeightsResult]]:
    """Made-up sums that grow like a power of d over their formulas."""
    cells = []
    for digits in (4000.0, 8000.0, 16_000.0):
        config = WeightsConfig(digits=digits)
        grown = power * config.log_d
        result = WeightsResult(sure=99.0, squares=-0.001 * config.log_d, cubes=grown, smaller_cubes=grown)
        cells.append((config, result))
    return cells


def _losses(power: float) -> list[tuple[LossConfig, LossResult]]:
    return [
        (LossConfig(alpha=alpha, k=k, small_spread=spread), LossResult(loss=0.5 * alpha**power))
        for alpha in (4.0, 16.0, 64.0)
        for k, spread in ((None, 1.5), (1024, 1.5), (1024, 1.0))
    ]


_ALONE = Control(
    name="one winner per feature",
    removes="structure",
    settings={"alone": True},
    why="Weights that no second winner shares have a sum of squares of order alpha^2 d.",
)
_NO_SMALL = Control(
    name="no small codes",
    removes="structure",
    settings={"small_rate": 1e-9},
    why="With large codes alone most scores are zero, and the loss there is log 2 for every alpha.",
)
_LARGE = (
    "Definition D.4 prints alpha = o(1), where 1/alpha^2 is above log 2 and nothing is said; alpha is large "
    "here, as in the proof of Theorem D.1."
)
_COUNTED = "|S_sure| is its expected number, by exact tails, which d >= 10^4000 and c0 = 0.9 make large."

CHECKS = (
    Check(
        claim_id="purification.claimD.5",
        experiment=COUPLING_WEIGHTS,
        evaluate=_weights(lambda r: r.cubes),
        observed=_started,
        satisfied=examples(*_sums(-0.001)),
        violated=examples(*_sums(0.01)),
        controls=(_ALONE,),
        reading=f"{_COUNTED} Xi1 = d^(gamma c0/4), Xi2 = d^(2 gamma c0); one constant for all d.",
    ),
    Check(
        claim_id="purification.claimD.5.repaired",
        experiment=COUPLING_WEIGHTS,
        evaluate=_weights(lambda r: r.smaller_cubes),
        observed=_started,
        satisfied=examples(*_sums(-0.001)),
        violated=examples(*_sums(0.01)),
        controls=(_ALONE,),
        reading=f"{_COUNTED} The proof of Theorem D.1 uses Xi1^2 as well.",
    ),
    Check(
        claim_id="purification.lemD.6b",
        experiment=COUPLING_LOSS,
        evaluate=_squared,
        conditions=_conditions,
        satisfied=examples(*_losses(-2.0)),
        violated=examples(*_losses(-1.0)),
        controls=(_NO_SMALL,),
        reading="With g(mu) = alpha <w*, z>, in the limit of large k and with Xi2 = alpha: d is as large as "
        f"Xi2^100 <= d^c0 asks. One constant for all alpha, an exponent nearer to 0 than to 1. {_LARGE}",
    ),
    Check(
        claim_id="purification.lemD.6b.repaired",
        experiment=COUPLING_LOSS,
        evaluate=_first_power,
        conditions=_conditions,
        satisfied=examples(*_losses(-1.0)),
        violated=examples(*_losses(-0.2)),
        controls=(_NO_SMALL,),
        reading="With g(mu) = alpha <w*, z>, for k = 1024 and in the limit of large k, with Xi2 = alpha; for "
        "k = 1024 also with small codes of one size, which cancel with a probability of order 1/sqrt(k). One "
        f"constant for all alpha, an exponent nearer to 0 than to 1. {_LARGE}",
    ),
)
