"""How the checks on training from pure features read o(1) and O(.) over d, and the hypotheses they share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.papers.purification import bounds_hypotheses
from karat.papers.purification.checks.readings import SMALL
from karat.papers.purification.experiments.limits import LimitsResult
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import Finding, Unit
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, limit, noted
from karat.study.run import Run, grouped

LimitRun = Run[PureStartConfig, LimitsResult]
LimitRuns = Sequence[LimitRun]

OVER_D = (
    f"o(1) is read as at most {SMALL:g} at the largest d and falling over all d at which some k lies between "
    "d^((1 - c0)/3) and (d^(1 - 2 c0)/log d)^0.4."
)

HALF_OF_NOTHING = math.log(2) / 2
"""Half of the logistic loss of a net that says nothing: what a net that has learned must stay below."""

SLOPE = (
    "A loss has no level that one would call small, so o(1) is read as falling over all d at which some k "
    "lies "
    "between d^((1 - c0)/3) and (d^(1 - 2 c0)/log d)^0.4."
)

CHEAP = {"batch": 24, "n_test": 2000, "n_moved": 200, "n_attack": 100, "n_linear": 2}
"""Settings under which a cell is measured in a second or two; sizes stay those of the claim."""

NO_CLEAN_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0, "robust_time": 0.0},
    cheap=CHEAP,
    why="Pure features themselves hold no mixture.",
)

NO_ADVERSARIAL_TRAINING = Control(
    name="no adversarial training",
    removes="training",
    settings={"robust_time": 0.0},
    cheap=CHEAP,
    why="The net of clean training itself is neither purer nor more robust.",
)

POWERS = (
    "The data have E|z|_0 = small_rate k codes, b = k^-bias_power and lambda = d^-(1 + decay_power), "
    "settings of the "
    "run: powers that one can see, where the text has k^-0.5001 and logloglog(d)/d (those are looked at by "
    "purification.alg1.asleep)."
)

SLEEPING_CODES = Control(
    name="small codes sleep",
    removes="structure",
    settings={"bias_power": 0.4, "clean_steps": 10, "robust_time": 0.0},
    cheap=CHEAP,
    why="A threshold above the small codes leaves the net blind to nearly all of the score.",
)


def inside(runs: LimitRuns) -> list[LimitRun]:
    """The runs at dimensions where the theorems leave room for some k.

    Args:
        runs: all of an experiment.
    """
    wide = [run for run in runs if run.config.has_window]
    if not wide:
        raise Undecided(
            "no run of a dimension with room for k between d^(1/3) and (d/log d)^0.4 has finished"
        )
    return wide


def largest(runs: LimitRuns) -> list[LimitRun]:
    """The runs of the largest dimension inside.

    Args:
        runs: all of an experiment.
    """
    wide = inside(runs)
    top = max(run.config.d for run in wide)
    return [run for run in wide if run.config.d == top]


def by_dimension(runs: LimitRuns) -> dict[int, list[LimitRun]]:
    """The runs inside, dimension by dimension.

    Args:
        runs: all of an experiment.
    """
    return dict(sorted(grouped(inside(runs), lambda run: run.config.d).items()))


def over_d(runs: LimitRuns, value: Callable[[LimitRun], float]) -> tuple[list[float], list[list[float]]]:
    """The dimensions inside, and one curve over them per seed.

    Args:
        runs: all of an experiment.
        value: what the curves show.
    """
    return curves(inside(runs), lambda run: float(run.config.d), value)


def vanishes(runs: LimitRuns, value: Callable[[LimitsResult], float], unit: Unit) -> Finding:
    """The reading of o(1): at most `SMALL` at the largest d, and falling with d.

    Args:
        runs: all of an experiment.
        value: result -> what is said to vanish.
        unit: of it.
    """
    last = bound([value(run.result) for run in largest(runs)], "at most", SMALL, unit)
    d, table = over_d(runs, lambda run: value(run.result))
    return all_of(limit(d, table), last)


def falls(runs: LimitRuns, value: Callable[[LimitRun], float]) -> Finding:
    """The reading of o(1) for losses: falling with d.

    Args:
        runs: all of an experiment.
        value: run -> what is said to vanish.
    """
    d, table = over_d(runs, value)
    means = ", ".join(f"{sum(column) / len(column):.3f}" for column in zip(*table, strict=True))
    sizes = ", ".join(f"{size:.0e}" for size in d)
    return noted(limit(d, table), f"Over d = {sizes} it is {means}.")


def clean_conditions(config: PureStartConfig) -> list[Condition]:
    """What the theorems on the net of clean training ask.

    Args:
        config: of a run.
    """
    return bounds_hypotheses.of_clean_training(config.theorem_setting())


def fragile_conditions(config: PureStartConfig) -> list[Condition]:
    """What the theorems on the fragility of the clean net ask, at the length of the move.

    Args:
        config: of a run.
    """
    return bounds_hypotheses.of_fragility(replace(config.theorem_setting(), tau=config.fall))


def robust_conditions(config: PureStartConfig) -> list[Condition]:
    """What the theorems on adversarial training ask.

    Args:
        config: of a run.
    """
    return bounds_hypotheses.of_adversarial_training(config.theorem_setting())


def both_conditions(config: PureStartConfig) -> list[Condition]:
    """What the l_inf theorem on both trainings asks, each at its own radius.

    Args:
        config: of a run.
    """
    return [*fragile_conditions(config), *robust_conditions(config)]


def same_radius_conditions(config: PureStartConfig) -> list[Condition]:
    """What the corollaries that compare both trainings at the radius of training ask.

    Args:
        config: of a run.
    """
    return [*bounds_hypotheses.of_fragility(config.theorem_setting()), *robust_conditions(config)]


def structure(run: LimitRun) -> list[Condition]:
    """What the theorems use of the lottery, looked at on the net itself.

    Args:
        run: of pure features.
    """
    result = run.result
    return bounds_hypotheses.of_the_structure(
        run.config.theorem_setting(),
        result.clean.alpha,
        result.clean.beta,
        result.support,
        result.largest_dense,
    )
