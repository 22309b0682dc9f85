"""What all rules share: levels, the room of a mean, tail probabilities, seeds that would settle it."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy import special

from karat.core.sequential import anytime_t_factors, anytime_t_p_value
from karat.study.finding import Finding, Margin, Unit

Side = Literal["at most", "at least"]
Numbers = Sequence[float] | np.ndarray
Curves = Sequence[Sequence[float]] | np.ndarray

LEVEL = 0.95
"""Of every interval."""

SEEDS = 3
"""A random quantity seen fewer times says nothing about its spread that one could rely on."""

ROUNDING = 1e-9
"""Relative slack of a comparison: double-precision noise, far below any effect a claim speaks of."""

SIGNS = 6
"""So many equal values decide: a sign test of fewer has a larger p-value than 2.5 %."""

MOST_SEEDS = 10_000
"""Nobody runs more: a claim that would need them is as good as undecidable here."""


@dataclass(frozen=True)
class Evidence:
    """What the judge knows of the runs and a check does not.

    Args:
        added: whether there are other seeds than were planned; intervals are then anytime-valid.
        seeds: how many different seeds there are, None if nobody counted.
    """

    added: bool = False
    seeds: int | None = None


_EVIDENCE: ContextVar[Evidence] = ContextVar("what the judge knows of the runs")


@contextmanager
def judged_on(evidence: Evidence) -> Iterator[None]:
    """Judge with intervals that allow for what the judge knows.

    It is no argument of the rules, because a check knows neither the plan nor whether settings share seeds.

    Args:
        evidence: about the runs.
    """
    token = _EVIDENCE.set(evidence)
    try:
        yield
    finally:
        _EVIDENCE.reset(token)


def looked() -> bool:
    """Whether seeds were added after a look."""
    return _EVIDENCE.get(Evidence()).added


def seeds_behind(count: int) -> int:
    """How many independent values there are at most among so many.

    Args:
        count: of values.
    """
    seeds = _EVIDENCE.get(Evidence()).seeds
    return count if seeds is None else min(count, seeds)


def one_per_seed(numbers: np.ndarray) -> np.ndarray:
    """Return no more values than there are seeds, with the same mean and spread.

    Settings of one experiment share their draws, so that values of three settings under three seeds may be
    three values, each seen three times. Which belong together is not known here; the worst case is that all
    repeat each other.

    Args:
        numbers: of a mean, any number per seed.
    """
    count = seeds_behind(len(numbers))
    if count == len(numbers) or count < 2:
        return numbers[:count] if count < 2 else numbers
    ladder = np.arange(count) - (count - 1) / 2
    spread = float(numbers.std()) if spread_of(numbers) else 0.0
    return np.asarray(numbers.mean() + ladder * (spread / ladder.std()))


class Undecided(Exception):
    """A check finds no answer in its runs, such as a curve that never crosses: the claim is inconclusive."""


def room(mean: float, predicted: float, test: Margin | Side) -> float:
    """How far a mean lies inside what a test allows, negative outside; rounding is forgiven.

    Args:
        mean: the measured number.
        predicted: what the formula says.
        test: the margin of an equality, or the side of a bound.
    """
    # Zero has no scale of its own; every other prediction forgives rounding in its own units only.
    slack = ROUNDING * (max(abs(predicted), abs(mean)) if predicted else 1.0)
    if isinstance(test, Margin):
        return test.size - abs(mean - predicted) + slack
    return (predicted - mean if test == "at most" else mean - predicted) + slack


def finite_numbers(values: Numbers, predicted: float, unit: Unit, rule: str) -> np.ndarray | Finding:
    """Return the numbers as an array, or the finding that they cannot be compared.

    Args:
        values: measured.
        predicted: what they are compared with.
        unit: of both.
        rule: that asks.
    """
    numbers = np.asarray(values, dtype=float).reshape(-1)
    if len(numbers) == 0:
        return undecided(predicted, unit, rule, "No value was measured.")
    if not math.isfinite(predicted):
        return undecided(None, unit, rule, "The formula gives no finite number here.")
    if not np.isfinite(numbers).all():
        lost = int((~np.isfinite(numbers)).sum())
        return undecided(predicted, unit, rule, f"{lost} of {len(numbers)} values are not finite.")
    if (numbers < unit.low - ROUNDING).any() or (numbers > unit.high + ROUNDING).any():
        return undecided(predicted, unit, rule, f"Some values cannot be: this is no {unit.name}.")
    return numbers


def undecided(predicted: float | None, unit: Unit, rule: str, why: str) -> Finding:
    """Return the finding that nothing could be compared.

    Args:
        predicted: what the formula says, None if nothing.
        unit: of the numbers.
        rule: that was tried.
        why: it could not be applied.
    """
    return Finding(
        outcome="inconclusive",
        measured=None,
        interval=None,
        predicted=predicted,
        unit=unit,
        notes=(why,),
        trace=(rule,),
    )


def spread_of(numbers: np.ndarray) -> float:
    """Standard deviation over seeds; rounding alone is none."""
    spread = float(numbers.std(ddof=1))
    return spread if spread > ROUNDING**1.5 * float(np.abs(numbers).max()) else 0.0


def standard_error(numbers: np.ndarray) -> float:
    """Standard error of the mean."""
    return spread_of(numbers) / math.sqrt(len(numbers))


def half_width(numbers: np.ndarray) -> float:
    """Half of the interval of a mean: Student's, or the anytime-valid one where seeds were added."""
    if looked():
        return float(anytime_t_factors(np.array([len(numbers)]), LEVEL)[0]) * spread_of(numbers)
    return float(special.stdtrit(len(numbers) - 1, (1 + LEVEL) / 2)) * standard_error(numbers)


def tail(distance: float, numbers: np.ndarray) -> float:
    """Probability of a mean so far from the edge if the truth lay on its other side.

    Equal values of all seeds show no spread, and prove no more than a sign test.
    """
    if spread_of(numbers) == 0:
        return 0.5 ** len(numbers)
    if looked():
        return anytime_t_p_value(numbers.tolist(), float(numbers.mean()) - distance)
    return float(special.stdtr(len(numbers) - 1, -abs(distance) / standard_error(numbers)))


def seeds_needed(numbers: np.ndarray, distance: float) -> int | None:
    """Return how many seeds would leave the edge outside the interval; None if nobody runs so many.

    They are added after a look, so the anytime-valid interval is the one that must become so short.

    Args:
        numbers: seen so far, two at least.
        distance: of their mean from the edge.
    """
    spread = spread_of(numbers) if len(numbers) > 1 else math.inf
    if not 0 < abs(distance) < math.inf or not math.isfinite(spread):
        return None
    if spread == 0:
        return max(SIGNS, len(numbers) + 1)
    allowed = abs(distance) / spread
    # The factors fall with the number of seeds.
    first = max(SEEDS, len(numbers) + 1, 1 + int(np.searchsorted(-_factors(), -allowed)))
    return first if first <= MOST_SEEDS else None


@cache  # a report asks for hundreds
def _factors() -> np.ndarray:
    """Half-widths of anytime-valid intervals by the number of seeds, in standard deviations."""
    return anytime_t_factors(np.arange(1, MOST_SEEDS + 1), LEVEL)
