r"""Intervals that stay valid when seeds are added until the answer is clear (confidence sequences).

Each interval covers the mean with the stated probability at all numbers of seeds at once,

.. math:: P(\mu \in I_n \text{ for every } n) \ge \text{level},

so looking after every seed and stopping for any reason costs no coverage. All of them invert a test
martingale :math:`E_n(\mu)` with :math:`E_0 = 1` by Ville's inequality:
:math:`I_n = \{\mu : E_n(\mu) < 1 / (1 - \text{level})\}`. None depends on the order of the values.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp, xlog1py, xlogy

from karat.core.checks import require_integer
from karat.core.statistics import Interval

SPREAD = 10.0
"""Prior standard deviation of (mean - hypothesis) / sigma in `anytime_t_interval`: large, for away from a
phase boundary the distance is many standard deviations. Any value is valid; it only moves power about."""

_BETS = (np.arange(24) + 0.5) / 24
_EDGE = 1e-12


def anytime_t_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    r"""Interval for the mean of Gaussian values of unknown variance, valid at every number of values.

    .. math:: E_n(\mu) = \sqrt g \Big(\frac{1 + T}{1 + g T}\Big)^{n/2}, \quad
        T = \frac{n (\bar x - \mu)^2}{\sum (x_i - \bar x)^2}, \quad g = \frac{1}{1 + n\, \text{SPREAD}^2},

    the scale-invariant likelihood ratio with a Gaussian mixture over the effect size.

    Holds when: the values are independent and Gaussian, as Student's interval wants them.
    Reading: Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
    variance (2025), after Lai (1976). Finite from three values on at the usual levels.
    """
    array = _checked(values, level)
    mean = float(array.mean())
    factor = float(anytime_t_factors(np.array([len(array)]), level)[0])
    half = factor * float(array.std(ddof=1)) if math.isfinite(factor) else math.inf
    return Interval(mean - half, mean + half, level)


def anytime_t_factors(counts: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Half-widths of `anytime_t_interval` in sample standard deviations, infinite where there is none.

    Args:
        counts: numbers of values.
        level: probability of covering the truth at every count at once.
    """
    g = 1 / (1 + counts * SPREAD**2)
    growth = np.exp(-np.log((1 - level) ** 2 * g) / counts)
    finite = (counts > 1) & (growth * g < 1)
    squares = (growth - 1) / np.where(finite, 1 - growth * g, 1.0) * (counts - 1) / counts
    return np.where(finite, np.sqrt(np.where(finite, squares, 0.0)), math.inf)


def anytime_t_p_value(values: Sequence[float], mean: float) -> float:
    r"""Return :math:`\min(1, 1/E_n(\mu))`: valid at every number of values, whenever one stops.

    Args:
        values: Gaussian, two at least.
        mean: the hypothesis.
    """
    array = _checked(values, 0.95)
    n, squares = len(array), float(((array - array.mean()) ** 2).sum())
    distance = n * (float(array.mean()) - mean) ** 2
    if squares == 0:
        return 0.0 if distance > 0 and n > 1 else 1.0
    g, t = 1 / (1 + n * SPREAD**2), distance / squares
    return min(1.0, math.exp(-0.5 * math.log(g) - n / 2 * (math.log1p(t) - math.log1p(g * t))))


def anytime_proportion_interval(successes: int, trials: int, level: float = 0.95) -> Interval:
    r"""Interval for a probability from independent yes-or-no outcomes, valid at every number of trials.

    .. math:: E_n(p) = \frac{B(s + \frac12, n - s + \frac12)}{B(\frac12, \frac12)\; p^s (1 - p)^{n - s}}

    Args:
        successes: s.
        trials: n.
        level: probability of covering the truth at every n at once.

    Reading: Robbins' mixture over a Jeffreys prior; no approximation.

    >>> interval = anytime_proportion_interval(0, 10)
    >>> interval.low, round(interval.high, 3)
    (0.0, 0.377)
    """
    Interval(0.0, 1.0, level)  # refuses a level that is none
    require_integer(trials, "trials", "anytime_proportion_interval", minimum=1)
    require_integer(successes, "successes", "anytime_proportion_interval", minimum=0)
    if successes > trials:
        raise ValueError(
            f"`successes` of `anytime_proportion_interval` must be at most {trials}, got {successes}."
        )
    misses = trials - successes

    def excess(p: float) -> float:
        return _log_evidence(successes, misses, p) + math.log1p(-level)

    share = successes / trials
    low = _root(excess, _EDGE, share) if successes else 0.0
    high = _root(excess, share, 1 - _EDGE) if misses else 1.0
    return Interval(low, high, level)


def anytime_proportion_p_value(successes: int, trials: int, p: float) -> float:
    r"""Return :math:`\min(1, 1/E_n(p))`: valid at every number of trials, whenever one stops.

    Args:
        successes: s.
        trials: n.
        p: the hypothesis.
    """
    return min(1.0, math.exp(-_log_evidence(successes, trials - successes, p)))


def _log_evidence(successes: int, misses: int, p: float) -> float:
    """The logarithm of the mixture martingale against a probability."""
    mixture = float(betaln(successes + 0.5, misses + 0.5) - betaln(0.5, 0.5))
    return mixture - float(xlogy(successes, p) + xlog1py(misses, -p))


def anytime_bounded_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    r"""Interval for the mean of any independent values in [0, 1], valid at every number of values.

    The martingale for the lower end averages over bets u; the upper end is its mirror image.

    .. math:: E_n(m) = \frac{1}{|U|} \sum_{u \in U} \prod_i \Big(1 + u\, \frac{x_i - m}{m}\Big)

    Nothing is assumed about the distribution, so a rare outlier that no seed has shown so far is allowed for:
    far fewer cells can be decided than with `anytime_t_interval`.

    Reading: a uniform mixture of constant bets, not the adaptive ones of Waudby-Smith and Ramdas (2024);
    each end takes half of 1 - level.
    """
    array = _checked(values, level)
    if array.min() < 0 or array.max() > 1:
        raise ValueError("`values` of `anytime_bounded_interval` must lie in [0, 1].")
    return Interval(_lower_end(array, level), 1 - _lower_end(1 - array, level), level)


def _checked(values: Sequence[float], level: float) -> np.ndarray:
    """The values as an array: at least one, all finite; a level that is none is refused by `Interval`."""
    Interval(0.0, 1.0, level)
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise ValueError("`values` of an interval must be at least one finite number.")
    return array


def _lower_end(array: np.ndarray, level: float) -> float:
    """Largest m that the bets on a larger mean refute."""
    threshold = math.log(2 / (1 - level))

    def excess(m: float) -> float:
        wealth = np.log1p(np.outer(_BETS, array / m - 1)).sum(axis=1)
        return float(logsumexp(wealth)) - math.log(len(_BETS)) - threshold

    top = min(max(float(array.mean()), _EDGE), 1 - _EDGE)
    return _root(excess, _EDGE, top) if excess(_EDGE) > 0 else 0.0


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotone function changes sign; an end where it does not."""
    at_low, at_high = excess(low), excess(high)
    if at_low * at_high >= 0:
        return low if abs(at_low) < abs(at_high) else high
    return float(brentq(excess, low, high, xtol=1e-12))
