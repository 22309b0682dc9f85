"""Means over seeds, and exact numbers, against a bound or a value."""

from dataclasses import replace

import numpy as np

from karat.core.statistics import Interval
from karat.study.finding import Finding, Margin, Outcome, Unit
from karat.study.judging.common import (
    LEVEL,
    ROUNDING,
    SEEDS,
    Numbers,
    Side,
    finite_numbers,
    half_width,
    one_per_seed,
    room,
    seeds_needed,
    tail,
    undecided,
)


def bound(values: Numbers, side: Side, predicted: float, unit: Unit) -> Finding:
    """The mean of a random quantity against a bound: the whole interval must lie on the right side.

    Args:
        values: one per seed.
        side: on which the mean must lie.
        predicted: the bound.
        unit: of both.

    >>> from karat.study.finding import ERROR
    >>> bound([0.10, 0.11, 0.12], "at most", 0.2, ERROR).outcome
    'holds'
    >>> bound([0.30, 0.31, 0.32], "at most", 0.2, ERROR).outcome
    'fails'
    >>> bound([0.10, 0.11], "at most", 0.2, ERROR).outcome
    'inconclusive'
    """
    rule = f"bound: mean {side} {predicted:.6g}"
    return _judge_mean(values, predicted, side, unit, rule)


def exact_bound(values: Numbers, side: Side, predicted: float, unit: Unit, why: str) -> Finding:
    """Numbers without randomness against a bound that each of them must meet.

    Args:
        values: exact numbers; the worst one decides.
        side: on which all must lie.
        predicted: the bound.
        unit: of both.
        why: what makes the numbers exact, such as `a certificate` or `closed form`.

    >>> from karat.study.finding import RATIO
    >>> exact_bound([0.4, 0.9], "at most", 1.0, RATIO, "closed form").measured
    0.9
    """
    rule = f"exact bound: every value {side} {predicted:.6g} ({why})"
    numbers = finite_numbers(values, predicted, unit, rule)
    if isinstance(numbers, Finding):
        return numbers
    worst = float(numbers.max() if side == "at most" else numbers.min())
    return _exact(worst, predicted, unit, rule, holds=room(worst, predicted, side) >= 0)


def identity(values: Numbers, predicted: float, unit: Unit, *, rounding: float = ROUNDING) -> Finding:
    """Numbers that must equal the prediction up to rounding, each of them.

    Args:
        values: exact numbers; the farthest one decides.
        predicted: what they must be.
        unit: of both.
        rounding: relative to the prediction, or absolute below 1.
    """
    rule = f"identity: every value {predicted:.6g} up to {rounding:g}"
    numbers = finite_numbers(values, predicted, unit, rule)
    if isinstance(numbers, Finding):
        return numbers
    farthest = float(numbers[np.abs(numbers - predicted).argmax()])
    holds = abs(farthest - predicted) <= rounding * max(1.0, abs(predicted))
    return _exact(farthest, predicted, unit, rule, holds=holds)


def equal(values: Numbers, predicted: float, margin: Margin, unit: Unit) -> Finding:
    """The mean of a random quantity is the predicted one: an equivalence test.

    Holds when the whole interval lies within the margin, fails when it lies outside.

    Args:
        values: one per seed.
        predicted: the exact value.
        margin: what would still be called the same, and why.
        unit: of all three.

    >>> from karat.study.finding import RATIO
    >>> margin = Margin(0.1, "a tenth is the resolution of the printed figure")
    >>> near, far, wide = [1.0, 1.01, 0.99], [1.3, 1.31, 1.29], [0.5, 1.0, 1.5]
    >>> [equal(values, 1.0, margin, RATIO).outcome for values in (near, far, wide)]
    ['holds', 'fails', 'inconclusive']
    """
    rule = f"equal: mean within {margin.size:.3g} of {predicted:.6g} ({margin.reason})"
    return _judge_mean(values, predicted, margin, unit, rule)


def _judge_mean(values: Numbers, predicted: float, test: Margin | Side, unit: Unit, rule: str) -> Finding:
    """Judge a mean over seeds: decided when its interval lies on one side of the edge as a whole."""
    numbers = finite_numbers(values, predicted, unit, rule)
    if isinstance(numbers, Finding):
        return numbers
    mean = float(numbers.mean())
    inside = room(mean, predicted, test)
    leaning: Outcome = "holds" if inside >= 0 else "fails"
    given, numbers = len(numbers), one_per_seed(numbers)
    if len(numbers) < given:
        rule += f"; {given} values share {len(numbers)} seeds and count as so many"
    if len(numbers) < SEEDS:
        few = f"{len(numbers)} of the {SEEDS} seeds that a random quantity needs at least."
        needed = seeds_needed(numbers, inside) if len(numbers) > 1 else SEEDS
        return replace(
            undecided(predicted, unit, rule, few), measured=mean, leaning=leaning, seeds_needed=needed
        )
    half = half_width(numbers)
    p_value = tail(inside, numbers)
    # Without spread the interval is a point, and the sign test must decide.
    decided = abs(inside) >= half and (half > 0 or p_value <= (1 - LEVEL) / 2)
    return Finding(
        outcome=leaning if decided else "inconclusive",
        measured=mean,
        interval=unit.clip(Interval(mean - half, mean + half, LEVEL)),
        predicted=predicted,
        unit=unit,
        leaning=leaning,
        p_value=p_value if decided else None,
        resolution=half,
        seeds_needed=None if decided else seeds_needed(numbers, inside),
        trace=(rule,),
    )


def _exact(value: float, predicted: float, unit: Unit, rule: str, *, holds: bool) -> Finding:
    outcome: Outcome = "holds" if holds else "fails"
    return Finding(
        outcome=outcome,
        measured=value,
        interval=None,
        predicted=predicted,
        unit=unit,
        leaning=outcome,
        p_value=0.0,
        resolution=0.0,
        trace=(rule,),
    )
