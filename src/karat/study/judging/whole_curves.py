"""Predictions that are curves, judged by a band that is right at all points at once."""

from dataclasses import replace

import numpy as np

from karat.core.bands import simultaneous_band
from karat.core.statistics import Interval
from karat.study.finding import Curve, Finding, Margin, Outcome, Unit
from karat.study.judging.common import (
    LEVEL,
    ROUNDING,
    SEEDS,
    Curves,
    Numbers,
    Side,
    looked,
    room,
    seeds_behind,
    seeds_needed,
    spread_of,
    tail,
    undecided,
)


def curve(x: Numbers, curves: Curves, predicted: Numbers, test: Margin | Side, unit: Unit) -> Finding:
    """A measured curve against a predicted one: the band, right at all points at once, decides everywhere.

    Args:
        x: (g,) increasing.
        curves: (seeds, g) one curve per seed.
        predicted: (g,) what the formula says.
        test: the margin of an equality, or the side of a bound.
        unit: of the values.

    >>> from karat.study.finding import ERROR
    >>> table = [[0.1, 0.2], [0.12, 0.22], [0.11, 0.21]]
    >>> curve([1, 2], table, [0.5, 0.3], "at most", ERROR).outcome
    'holds'
    >>> curve([1, 2], table, [0.5, 0.1], "at most", ERROR).predicted
    0.1
    """
    how = f"within {test.size:.3g} ({test.reason})" if isinstance(test, Margin) else test
    rule = f"curve: at all {len(x)} points at once, {how} the prediction"
    table = np.asarray(curves, dtype=float).reshape(-1, len(x))
    if len(table) == 0 or not np.isfinite(table).all():
        return undecided(None, unit, rule, "No seed has a finite value at every point.")
    if not np.isfinite(np.asarray(predicted, dtype=float)).all():
        return undecided(None, unit, rule, "The formula gives no finite number at some point.")
    if (table < unit.low - ROUNDING).any() or (table > unit.high + ROUNDING).any():
        return undecided(None, unit, rule, f"Some values cannot be: this is no {unit.name}.")
    inside = [
        room(float(mean), float(p), test) for mean, p in zip(table.mean(axis=0), predicted, strict=True)
    ]
    leaning: Outcome = "holds" if min(inside) >= 0 else "fails"
    if len(table) < SEEDS:
        few = f"{len(table)} of the {SEEDS} seeds that a random curve needs at least."
        return replace(undecided(float(predicted[0]), unit, rule, few), leaning=leaning)
    if seeds_behind(len(table)) < len(table):
        many = (
            f"{len(table)} curves of {seeds_behind(len(table))} seeds: each setting needs its own comparison."
        )
        return replace(undecided(float(predicted[0]), unit, rule, many), leaning=leaning)
    band = simultaneous_band(table, LEVEL, anytime=looked())
    half = [(high - low) / 2 for low, high in zip(band.low, band.high, strict=True)]
    at = min(range(len(x)), key=lambda i: inside[i] - half[i])
    outcome: Outcome = "holds" if inside[at] >= half[at] else "inconclusive"
    tails = [tail(distance, table[:, index]) for index, distance in enumerate(inside)]
    failing = [i for i in range(len(x)) if inside[i] <= -half[i]]
    if failing:
        outcome, at = "fails", min(failing, key=lambda i: tails[i])
    # All points must hold, so the least clear counts; any may refute, so the clearest of so many does.
    p_value = max(tails) if outcome == "holds" else min(1.0, len(x) * tails[at])
    no_spread = any(spread_of(column) == 0 for column in table.T)
    if no_spread and p_value > (1 - LEVEL) / 2:  # equal values of few seeds decide nothing
        outcome = "inconclusive"
    return Finding(
        outcome=outcome,
        measured=band.mean[at],
        interval=unit.clip(Interval(band.low[at], band.high[at], LEVEL)),
        predicted=float(predicted[at]),
        unit=unit,
        leaning=leaning,
        p_value=None if outcome == "inconclusive" else p_value,
        resolution=half[at],
        seeds_needed=seeds_needed(table[:, at], inside[at]) if outcome == "inconclusive" else None,
        notes=(f"Decided at {x[at]:g}.",),
        trace=(rule,),
        curve=Curve(x=tuple(map(float, x)), predicted=tuple(map(float, predicted)), band=band),
    )
