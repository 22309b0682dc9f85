"""Intervals over seeds, exact binomial intervals, power laws and crossing points.

`scipy.stats` has the same intervals (`binomtest`, `ttest_1samp`, `linregress`), equal up to rounding but 15,
5 and 3 times as slow as the special functions used here, and judging a store asks for thousands of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from karat.core.checks import require_choice, require_integer, require_number

Numbers = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Interval:
    """A confidence interval [low, high] at the stated level; an end may be infinite.

    Args:
        low: lower end.
        high: upper end.
        level: probability with which the interval covers the truth.
    """

    low: float
    high: float
    level: float = 0.95

    def __post_init__(self) -> None:
        _require_level(self.level, "Interval")
        if not self.low <= self.high:
            raise ValueError(f"`Interval` must have low <= high, got [{self.low:g}, {self.high:g}].")

    def contains(self, value: float) -> bool:
        """Whether the value lies inside, ends included."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A value with its interval."""

    value: float
    interval: Interval


def _require_level(level: float, owner: str) -> None:
    if not 0 < require_number(level, "level", owner) < 1:
        raise ValueError(f"`level` of `{owner}` must be strictly between 0 and 1, got {level}.")


def _finite(values: Numbers, name: str, least: int) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or len(array) < least:
        raise ValueError(f"`{name}` must hold at least {least} numbers, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"`{name}` must hold finite numbers.")
    return array


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Interval:
    r"""Exact binomial interval: covers the probability with at least `level`, whatever the truth.

    Its ends are quantiles of Beta laws, each leaving out a tail of :math:`(1 - \text{level})/2`.

    Args:
        successes: how many trials succeeded.
        trials: how many there were.
        level: probability of covering the truth.

    >>> interval = clopper_pearson(0, 10)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    """
    require_integer(trials, "trials", "clopper_pearson", minimum=1)
    require_integer(successes, "successes", "clopper_pearson", minimum=0)
    _require_level(level, "clopper_pearson")
    if successes > trials:
        raise ValueError(f"`successes` of `clopper_pearson` must be at most {trials}, got {successes}.")
    tail, failures = (1 - level) / 2, trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betainccinv(successes + 1, failures, tail)) if failures else 1.0
    return Interval(low, high, level)


def _student(level: float, freedom: int) -> float:
    """Half the width of a two-sided Student interval in standard errors."""
    return float(special.stdtrit(freedom, (1 + level) / 2))


def t_interval(values: Numbers, level: float = 0.95) -> Interval:
    """Student's interval for the mean over independent seeds; two seeds at least."""
    _require_level(level, "t_interval")
    array = _finite(values, "values", 2)
    half = _student(level, len(array) - 1) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return Interval(float(array.mean()) - half, float(array.mean()) + half, level)


@dataclass(frozen=True)
class PowerLaw:
    r""":math:`y \approx e^{\text{log\_factor}}\, x^{\text{exponent}}`, by least squares of the logarithms.

    Args:
        exponent: the slope in log-log coordinates.
        interval: of the exponent.
        log_factor: the height at x = 1 in log-log coordinates.
    """

    exponent: float
    interval: Interval
    log_factor: float


def fit_power_law(x: Numbers, y: Numbers, level: float = 0.95) -> PowerLaw:
    """Exponent of a power law with its Student interval from the residuals; three points at least.

    Args:
        x: (g,) positive numbers, not all equal.
        y: (g,) positive numbers.
        level: probability with which the interval covers the exponent.

    >>> round(fit_power_law([1, 2, 4, 8], [3, 12, 48, 192]).exponent, 10)
    2.0
    """
    _require_level(level, "fit_power_law")
    xs, ys = _finite(x, "x", 3), _finite(y, "y", 3)
    if len(xs) != len(ys):
        raise ValueError(f"`x` and `y` must have the same length, got {len(xs)} and {len(ys)}.")
    if (xs <= 0).any() or (ys <= 0).any():
        raise ValueError("a log-log slope needs positive numbers.")
    u, v = np.log(xs), np.log(ys)
    centred = u - u.mean()
    spread = float(centred @ centred)
    if np.ptp(u) == 0:
        raise ValueError("a log-log slope needs at least two different x.")
    exponent = float(centred @ v) / spread
    residual = v - v.mean() - exponent * centred
    error = math.sqrt(residual @ residual / (len(u) - 2) / spread)
    half = _student(level, len(u) - 2) * error
    log_factor = float(v.mean() - exponent * u.mean())
    return PowerLaw(exponent, Interval(exponent - half, exponent + half, level), log_factor)


# Accuracies 0 and 1 have no probit; half a count in ten thousand keeps them on the scale.
_PROBIT_EDGE = 5e-5


def crossing_point(
    x: Numbers,
    curves: Sequence[Numbers] | np.ndarray,
    height: float,
    *,
    transform: Literal["linear", "probit"] = "linear",
    rising: bool | None = None,
    level: float = 0.95,
) -> Estimate:
    """Where a monotone curve first crosses a height, with a Student interval over seeds.

    Each seed's curve is interpolated between the two grid points around its own crossing, on the scale of
    `transform` (probit straightens accuracies that follow a Gaussian tail). A seed that never crosses makes
    the crossing unknown on this grid, which is an error rather than a guess. A value equal to the height
    counts as above it.

    Args:
        x: (g,) increasing grid.
        curves: (seeds, g) one curve per seed.
        height: value to cross.
        transform: scale of the interpolation.
        rising: whether the curves must end higher than they begin, or lower; one that does not is an error.
        level: probability with which the interval covers the crossing.

    Returns:
        mean crossing and interval; a single seed gives an infinite interval.

    Reading: on the probit scale values are clipped to [5e-5, 1 - 5e-5], so a crossing next to an accuracy
        of exactly 0 or 1 leans on that choice; refine the grid there.
    """
    require_choice(transform, "transform", "crossing_point", ("linear", "probit"))
    require_number(height, "height", "crossing_point")
    _require_level(level, "crossing_point")
    grid = _finite(x, "x", 2)
    if (np.diff(grid) <= 0).any():
        raise ValueError("`x` must increase.")
    table = np.atleast_2d(np.asarray(curves, dtype=float))
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] != len(grid):
        raise ValueError(f"`curves` must have shape (seeds, {len(grid)}), got {table.shape}.")
    if not np.isfinite(table).all():
        raise ValueError("`curves` must hold finite numbers.")
    if rising is not None and ((table[:, -1] > table[:, 0]) != rising).any():
        raise ValueError(f"`curves` must all {'rise' if rising else 'fall'} from end to end.")
    if transform == "probit":
        if table.min() < 0 or table.max() > 1:
            raise ValueError("`curves` must lie in [0, 1] for the probit transform.")
        if not _PROBIT_EDGE < height < 1 - _PROBIT_EDGE:
            raise ValueError(f"`height` of `crossing_point` is too near 0 or 1 for the probit, got {height}.")
    points = [_first_crossing(grid, curve, height, transform) for curve in table]
    if len(points) == 1:
        return Estimate(points[0], Interval(-math.inf, math.inf, level))
    return Estimate(float(np.mean(points)), t_interval(points, level))


def _first_crossing(grid: np.ndarray, curve: np.ndarray, height: float, transform: str) -> float:
    above = curve >= height
    changes = np.flatnonzero(above[1:] != above[:-1])
    if len(changes) == 0:
        side = "above" if above[0] else "below"
        raise ValueError(f"the curve stays {side} {height:g} on the whole grid: no crossing to report.")
    left = int(changes[0])
    ends = np.array([curve[left], height, curve[left + 1]])
    if transform == "probit":
        ends = special.ndtri(np.clip(ends, _PROBIT_EDGE, 1 - _PROBIT_EDGE))
    share = (ends[1] - ends[0]) / (ends[2] - ends[0])
    return float(grid[left] + share * (grid[left + 1] - grid[left]))
