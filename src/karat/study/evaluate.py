"""From one value per seed to a finding: bounds, equalities and rates, judged by intervals alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from karat.core.bands import simultaneous_band
from karat.core.statistics import Interval, fit_power_law, t_interval
from karat.study.claim import Curve, Finding, Outcome

Side = Literal["equal", "at most", "at least"]
Numbers = Sequence[float] | np.ndarray
Curves = Sequence[Sequence[float]] | np.ndarray

ROUNDING = 1e-9
"""Relative slack of an exact comparison: double-precision noise, far below any effect a claim speaks of."""

_ONE_SEED = "One seed only: no interval over seeds."


def upper_bound_finding(
    values: Sequence[float], predicted: float, level: float = 0.95, *, deterministic: bool = False
) -> Finding:
    """Mean over seeds against an upper bound: holds if the whole interval is below it, fails if above.

    Args:
        values: one per seed.
        predicted: the bound.
        level: of the interval.
        deterministic: the statement has no randomness, so the largest value is compared exactly.

    >>> upper_bound_finding([0.10, 0.11, 0.12], predicted=0.2).verdict
    'holds'
    >>> upper_bound_finding([0.10], predicted=0.2).verdict
    'inconclusive'
    """
    return _judge(values, predicted, "at most", level, max if deterministic else None)


def lower_bound_finding(
    values: Sequence[float], predicted: float, level: float = 0.95, *, deterministic: bool = False
) -> Finding:
    """Mean over seeds against a lower bound: holds if the whole interval is above it, fails if below."""
    return _judge(values, predicted, "at least", level, min if deterministic else None)


def tight_finding(
    values: Sequence[float],
    predicted: float,
    level: float = 0.95,
    *,
    resolution: float | None = None,
    deterministic: bool = False,
) -> Finding:
    """Mean over seeds against an exact value: holds if the interval contains it, fails if not.

    Reading: an interval that contains the value only because it is wide proves nothing; one whose half-width
    exceeds `resolution` is inconclusive. A deterministic value must agree up to `ROUNDING`.
    """

    def farthest(found: Sequence[float]) -> float:
        return max(found, key=lambda value: abs(value - predicted))

    return _judge(values, predicted, "equal", level, farthest if deterministic else None, resolution)


def rate_finding(
    x: Numbers,
    curves: Curves,
    predicted: float,
    level: float = 0.95,
    *,
    side: Side = "equal",
    resolution: float | None = None,
) -> Finding:
    """Exponent of a power law y ~ x^predicted, fitted per seed in log-log coordinates.

    Args:
        x: (g,) positive grid.
        curves: (seeds, g) one positive curve per seed.
        predicted: the exponent.
        side: whether the law is an equality or a one-sided rate.

    Returns:
        mean slope with its Student interval over seeds; for a single seed the interval of the regression.

    >>> rate_finding([1, 2, 4], [[1.0, 0.5, 0.26], [1.0, 0.49, 0.25], [1.1, 0.54, 0.27]], -1).verdict
    'holds'
    """
    table = np.asarray(curves, dtype=float).reshape(-1, len(x))
    if len(table) == 0 or len(x) < 3:
        return _nothing(predicted, f"A slope needs three points, got {len(x)} from {len(table)} seeds.")
    if not (np.isfinite(table).all() and (table > 0).all()):
        return _nothing(predicted, "Some values are not positive finite numbers: no power law to fit.")
    fits = [fit_power_law(x, curve, level) for curve in table]
    if len(fits) > 1:
        return _judge([fit.exponent for fit in fits], predicted, side, level, None, resolution)
    return Finding(
        measured=fits[0].exponent,
        interval=fits[0].interval,
        predicted=predicted,
        verdict=_compare(fits[0].interval, predicted, side, resolution),
        caveat="Only one seed gives a curve to fit: the interval is that of the fit.",
    )


def limit_finding(x: Numbers, curves: Curves, level: float = 0.95) -> Finding:
    """Whether a positive quantity vanishes as x grows: o(1) as a falling power law over the sizes at hand.

    Args:
        x: (g,) positive sizes, three at least, such as dimensions.
        curves: (seeds, g) the quantity, one curve per seed.
        level: of the interval of the exponent.

    Returns:
        the exponent against 0: holds if its interval lies below, fails if it lies above.

    >>> limit_finding([10, 100, 1000], [[0.5, 0.26, 0.12], [0.6, 0.29, 0.15], [0.5, 0.25, 0.13]]).verdict
    'holds'
    >>> limit_finding([10, 100, 1000], [[0.5, 0.5, 0.6], [0.5, 0.5, 0.61], [0.5, 0.52, 0.6]]).verdict
    'fails'
    """
    return rate_finding(x, curves, 0.0, level, side="at most")


def curve_finding(
    x: Numbers,
    curves: Curves,
    predicted: Numbers,
    *,
    side: Side = "equal",
    level: float = 0.95,
    resolution: float | None = None,
) -> Finding:
    """A measured curve against a predicted one: the band, right at all points at once, decides everywhere.

    Holds if the band lies on the right side at every x, fails if it lies on the wrong side at any.

    Args:
        x: (g,) increasing.
        curves: (seeds, g) one curve per seed.
        predicted: (g,) what the formula says.
        side: whether the formula is an equality or a bound.
        level: of the whole band.
        resolution: for equalities, the half-width at which a band is too wide to prove anything.

    Returns:
        the numbers of the point that decided: the worst one.

    >>> curve_finding([1, 2], [[0.1, 0.2], [0.12, 0.22], [0.11, 0.21]], [0.5, 0.3], side="at most").verdict
    'holds'
    >>> curve_finding([1, 2], [[0.1, 0.2], [0.12, 0.22], [0.11, 0.21]], [0.5, 0.1], side="at most").predicted
    0.1
    """
    table = np.asarray(curves, dtype=float).reshape(-1, len(x))
    if len(table) < 2:
        return _nothing(float(predicted[0]), _ONE_SEED)
    band = simultaneous_band(table, level)
    points = [
        Finding(measured=mean, interval=ends, predicted=float(p), verdict=_compare(ends, p, side, resolution))
        for mean, ends, p in zip(
            band.mean,
            (Interval(low, high, level) for low, high in zip(band.low, band.high, strict=True)),
            predicted,
            strict=True,
        )
    ]
    worst = worst_finding(points)
    if worst.verdict == "holds":  # of points that all hold, the one with least room
        worst = min(points, key=lambda point: _room(point, side))
    where = f"Decided at {x[points.index(worst)]:g}; the band is right at all {len(x)} points at once."
    shown = Curve(x=tuple(map(float, x)), predicted=tuple(map(float, predicted)), band=band)
    return replace(worst, caveat=where, curve=shown)


def _room(point: Finding, side: Side) -> float:
    """How far the nearer end of an interval is from where the verdict would change."""
    assert point.interval is not None
    assert point.predicted is not None
    above, below = point.predicted - point.interval.high, point.interval.low - point.predicted
    return {"at most": above, "at least": below, "equal": -max(-above, -below)}[side]


def worst_finding(findings: Sequence[Finding]) -> Finding:
    """The finding of several settings that comes out worst: failing, else undecided, else the first."""
    order = {"fails": 0, "inconclusive": 1, "holds": 2}
    return min(findings, key=lambda finding: order[finding.verdict])


def _judge(
    values: Sequence[float],
    predicted: float,
    side: Side,
    level: float,
    worst: Callable[[Sequence[float]], float] | None,
    resolution: float | None = None,
) -> Finding:
    found = [float(value) for value in values]
    finite = [value for value in found if math.isfinite(value)]
    if not finite:
        return _nothing(predicted, "No finite value was measured.")
    if math.isnan(predicted):
        return _nothing(predicted, "The formula gives no number here.", measured=float(np.mean(finite)))
    if len(finite) < len(found):
        caveat = f"{len(found) - len(finite)} of {len(found)} values are not finite and left out."
        return _nothing(predicted, caveat, measured=float(np.mean(finite)))
    if worst is not None:
        value = worst(finite)
        exact = _compare(Interval(value, value), predicted, side)
        return Finding(measured=value, interval=None, predicted=predicted, verdict=exact)
    mean = float(np.mean(finite))
    if len(finite) == 1:
        return _nothing(predicted, _ONE_SEED, measured=mean)
    interval = t_interval(finite, level)
    verdict = _compare(interval, predicted, side, resolution)
    return Finding(measured=mean, interval=interval, predicted=predicted, verdict=verdict)


def _compare(interval: Interval, predicted: float, side: Side, resolution: float | None = None) -> Outcome:
    slack = ROUNDING * max(1.0, abs(predicted))
    if side == "at most":
        if interval.high <= predicted + slack:
            return "holds"
        return "fails" if interval.low > predicted + slack else "inconclusive"
    if side == "at least":
        if interval.low >= predicted - slack:
            return "holds"
        return "fails" if interval.high < predicted - slack else "inconclusive"
    if interval.high < predicted - slack or interval.low > predicted + slack:
        return "fails"
    coarse = resolution is not None and (interval.high - interval.low) / 2 > resolution
    return "inconclusive" if coarse else "holds"


def _nothing(predicted: float, caveat: str, measured: float | None = None) -> Finding:
    return Finding(
        measured=measured, interval=None, predicted=predicted, verdict="inconclusive", caveat=caveat
    )
