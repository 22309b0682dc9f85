"""How the checks of purification read its words: which runs speak, their hypotheses, o(1) and Theta(.)."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from karat.papers.purification import bounds_hypotheses
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.curves import curves
from karat.study.finding import Finding, Margin, Unit
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, limit
from karat.study.run import Run

C = TypeVar("C", bound=OddNetConfig)
R = TypeVar("R")

SMALL = 0.25
"""How o(1) is read at one size: at most a quarter. Only a sweep over d can say that it vanishes."""

FACTOR = 2.0
"""How Theta(.) is read at one size: the constant stays within this factor of one."""

PURER = 3.0
"""By which factor the mixture must fall to be called removed."""

ONE_SIZE = f"o(1) is read as at most {SMALL:g} at the largest d and, from three d on, as falling with d."


def data_conditions(config: OddNetConfig) -> list[Condition]:
    """What the paper asks of the codes.

    Args:
        config: of a run.
    """
    return bounds_hypotheses.of_the_data(config.d, config.k)


def lottery_conditions(config: OddNetConfig) -> list[Condition]:
    """What the theorems on the two phases of clean training ask.

    Args:
        config: of a run.
    """
    return bounds_hypotheses.of_the_lottery(config.theorem_setting())


def clean_conditions(config: OddNetConfig) -> list[Condition]:
    """What the theorems on the net of clean training ask.

    Args:
        config: of a run.
    """
    return bounds_hypotheses.of_clean_training(config.theorem_setting())


def standard(runs: Iterable[Run[C, R]]) -> list[Run[C, R]]:
    """The runs with the standard data and k <= d^0.499, of every d those with the largest such k.

    Args:
        runs: all of an experiment; where none has these data, all that are left are taken.
    """
    every = list(runs)
    plain = [run for run in every if _has_standard_data(run.config)] or every
    inside = [run for run in plain if run.config.k <= run.config.d**0.499] or plain
    sparsity = {run.config.d: 0 for run in inside}
    for run in inside:
        sparsity[run.config.d] = max(sparsity[run.config.d], run.config.k)
    return [run for run in inside if run.config.k == sparsity[run.config.d]]


def largest_standard(runs: Iterable[Run[C, R]]) -> list[Run[C, R]]:
    """The standard runs of the largest dimension: what a single number shows.

    Args:
        runs: all of an experiment.
    """
    candidates = standard(runs)
    if not candidates:
        raise Undecided("no run of the setting that is judged has finished")
    largest = max(run.config.d for run in candidates)
    return [run for run in candidates if run.config.d == largest]


def _has_standard_data(config: OddNetConfig) -> bool:
    return config.w_star == "signs" and config.dictionary == "identity" and config.sigma_spike == 0


def over_d(
    runs: Iterable[Run[C, R]], value: Callable[[Run[C, R]], float]
) -> tuple[list[float], list[list[float]]]:
    """The dimensions of the standard runs, and one curve over them per seed.

    Args:
        runs: all of an experiment.
        value: what the curves show.
    """
    return curves(standard(runs), lambda run: float(run.config.d), value)


def vanishes(runs: Sequence[Run[C, R]], value: Callable[[R], float], unit: Unit) -> Finding:
    """The reading of o(1): at most `SMALL` at the largest d, and falling where three d were run.

    Args:
        runs: all of an experiment.
        value: result -> what is said to vanish.
        unit: of it.
    """
    last = bound(each(largest_standard(runs), value), "at most", SMALL, unit)
    sizes = {run.config.d for run in standard(runs)}
    if len(sizes) < 3:
        return last
    d, table = over_d(runs, lambda run: value(run.result))
    return all_of(last, limit(d, table))


def halfway(rival: float, name: str) -> Margin:
    """The margin of an exponent that must not be mistaken for a rival's.

    Args:
        rival: by how much the exponent of the rival differs.
        name: of the rival.
    """
    return Margin(rival / 2, f"half-way to the exponent of {name}")


def each(runs: Iterable[Run[C, R]], value: Callable[[R], float]) -> list[float]:
    """One number per run.

    Args:
        runs: of one setting.
        value: result -> number.
    """
    return [float(value(run.result)) for run in runs]


def measured(runs: Iterable[Run[C, R]], name: str, value: Callable[[R], float | None]) -> list[float]:
    """One number per run, of those that not every run has; `Undecided` names what is missing.

    Args:
        runs: of one setting.
        name: of the value in the record.
        value: result -> number, None if it was not measured.
    """
    numbers = [value(run.result) for run in runs]
    present = [number for number in numbers if number is not None]
    if len(present) < len(numbers):
        raise Undecided(f"some run has no value `{name}`")
    return present


def average(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def mean(runs: Iterable[Run[C, R]], value: Callable[[R], float]) -> float:
    """Mean of one number over runs.

    Args:
        runs: of one setting.
        value: result -> number.
    """
    return average(each(runs, value))


def mixture_fall(before: float, after: float) -> float:
    """The factor by which a mixture falls, at most 100.

    Args:
        before: mixture over pure part.
        after: the same later; one that has passed through zero is gone, and any factor would do.
    """
    return min(before / max(abs(after), 1e-6), 100.0)
