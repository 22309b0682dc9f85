"""Intervals, slopes and crossings: exact coverage where it can be computed, simulation where it cannot."""

import math
import re
import statistics

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from karat.core import (
    Interval,
    clopper_pearson,
    crossing_point,
    fit_power_law,
    t_interval,
)

samples = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# Interval --------------------------------------------------------------------------------------------


def test_an_interval_contains_its_ends_and_nothing_outside():
    interval = Interval(-1.0, 2.0)
    assert interval.contains(-1.0)
    assert interval.contains(2.0)
    assert not interval.contains(2.0000001)
    assert not interval.contains(math.nan)
    assert interval.level == 0.95


def test_an_infinite_interval_contains_every_number():
    assert Interval(-math.inf, math.inf).contains(1e308)
    assert Interval(0.0, math.inf).contains(math.inf)
    assert not Interval(0.0, math.inf).contains(-1e-300)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2.0, 1.0), "`Interval` must have low <= high, got [2, 1]."),
        ((math.nan, 1.0), "`Interval` must have low <= high, got [nan, 1]."),
        ((0.0, 1.0, 1.0), "`level` of `Interval` must be strictly between 0 and 1, got 1.0."),
    ],
)
def test_impossible_intervals_are_refused(arguments, message):
    with pytest.raises(ValueError, match=exactly(message)):
        Interval(*arguments)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.5])
@pytest.mark.parametrize(
    ("owner", "interval"),
    [
        ("clopper_pearson", lambda level: clopper_pearson(1, 2, level)),
        ("t_interval", lambda level: t_interval([1, 2], level)),
        ("fit_power_law", lambda level: fit_power_law([1, 2, 3], [1, 2, 3], level)),
        ("crossing_point", lambda level: crossing_point([0, 1], [0, 1], 0.5, level=level)),
    ],
)
def test_a_level_is_a_probability_strictly_between_zero_and_one(level, owner, interval):
    with pytest.raises(
        ValueError, match=exactly(f"`level` of `{owner}` must be strictly between 0 and 1, got {level}.")
    ):
        interval(level)


# Clopper-Pearson -------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 2, 7, 30, 100])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_clopper_pearson_covers_every_probability_at_its_level(trials, level):
    """Exact coverage by enumeration of all outcomes, at a grid and at both sides of every interval end."""
    intervals = [clopper_pearson(k, trials, level) for k in range(trials + 1)]
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    ends = np.concatenate([low[1:], high[:-1]])
    probabilities = np.concatenate([np.linspace(0, 1, 101), ends - 1e-9, ends + 1e-9]).clip(0, 1)
    mass = stats.binom.pmf(np.arange(trials + 1), trials, probabilities[:, None])
    covered = (low <= probabilities[:, None]) & (probabilities[:, None] <= high)
    assert ((mass * covered).sum(1) >= level - 1e-12).all()


@given(data=st.data(), trials=st.integers(1, 500), level=st.floats(0.5, 0.9999))
def test_clopper_pearson_ends_are_the_roots_of_the_binomial_tails(data, trials, level):
    successes = data.draw(st.integers(0, trials))
    interval, tail = clopper_pearson(successes, trials, level), (1 - level) / 2
    assert interval.low <= successes / trials <= interval.high
    if successes > 0:
        low = optimize.brentq(lambda p: stats.binom.sf(successes - 1, trials, p) - tail, 0, 1, xtol=1e-14)
        assert interval.low == pytest.approx(low, abs=1e-10)
    if successes < trials:
        high = optimize.brentq(lambda p: stats.binom.cdf(successes, trials, p) - tail, 0, 1, xtol=1e-14)
        assert interval.high == pytest.approx(high, abs=1e-10)


@given(data=st.data(), trials=st.integers(1, 10**6))
def test_clopper_pearson_treats_success_and_failure_alike(data, trials):
    successes = data.draw(st.integers(0, trials))
    interval, mirror = clopper_pearson(successes, trials), clopper_pearson(trials - successes, trials)
    assert interval.low == pytest.approx(1 - mirror.high, abs=1e-12)
    assert interval.high == pytest.approx(1 - mirror.low, abs=1e-12)


def test_clopper_pearson_without_failures_or_successes_touches_the_end():
    assert clopper_pearson(0, 5).low == 0
    assert clopper_pearson(5, 5).high == 1
    # The rule of three: with no success the upper end solves (1 - p)^n = tail.
    assert clopper_pearson(0, 50).high == pytest.approx(1 - 0.025 ** (1 / 50))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 2), ValueError, "`successes` of `clopper_pearson` must be at most 2, got 3."),
        ((-1, 2), ValueError, "`successes` of `clopper_pearson` must be a whole number >= 0, got -1."),
        ((0, 0), ValueError, "`trials` of `clopper_pearson` must be a whole number >= 1, got 0."),
        ((0.5, 2), TypeError, "`successes` of `clopper_pearson` must be a whole number >= 0, got 0.5."),
    ],
)
def test_impossible_counts_are_refused(arguments, error, message):
    with pytest.raises(error, match=exactly(message)):
        clopper_pearson(*arguments)


# Student ---------------------------------------------------------------------------------------------


@given(values=samples, level=st.floats(0.5, 0.999))
def test_t_interval_is_scipys(values, level):
    interval = t_interval(values, level)
    spread = statistics.stdev(values) / math.sqrt(len(values))
    if spread < 1e-9:
        assert (interval.low, interval.high) == pytest.approx((values[0], values[0]))
        return
    low, high = stats.t.interval(level, len(values) - 1, loc=np.mean(values), scale=spread)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9, abs=1e-9)


@given(values=samples, shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
def test_t_interval_moves_with_units(values, shift, scale):
    plain, moved = t_interval(values), t_interval([shift + scale * value for value in values])
    expected = (shift + scale * plain.low, shift + scale * plain.high)
    assert (moved.low, moved.high) == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("values", [[1.0], [], [[1.0, 2.0]]])
def test_an_interval_over_seeds_needs_two_seeds(values):
    shape = re.escape(str(np.shape(values)))
    with pytest.raises(ValueError, match=rf"^`values` must hold at least 2 numbers, got shape {shape}\.$"):
        t_interval(values)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_an_interval_over_seeds_needs_finite_values(wrong):
    with pytest.raises(ValueError, match=exactly("`values` must hold finite numbers.")):
        t_interval([1.0, wrong])


# Power laws ------------------------------------------------------------------------------------------


@given(exponent=st.floats(-4, 4), factor=st.floats(1e-3, 1e3), points=st.integers(3, 10))
def test_the_slope_of_an_exact_power_law_is_its_exponent(exponent, factor, points):
    x = np.geomspace(3, 3e4, points)
    fit = fit_power_law(x, factor * x**exponent)
    assert fit.exponent == pytest.approx(exponent, abs=1e-12)
    assert math.exp(fit.log_factor) == pytest.approx(factor, rel=1e-9)
    assert fit.interval.high - fit.interval.low < 1e-11


def test_the_slope_is_scipys_regression_of_logarithms():
    random = np.random.default_rng(0)
    x = np.geomspace(10, 1e4, 9)
    y = 5 * x**0.7 * np.exp(0.2 * random.normal(size=9))
    reference = stats.linregress(np.log(x), np.log(y))
    half = stats.t.ppf(0.95, 7) * reference.stderr
    fit = fit_power_law(x, y, level=0.9)
    ends = (reference.slope - half, reference.slope + half)
    assert (fit.exponent, fit.log_factor) == pytest.approx((reference.slope, reference.intercept))
    assert (fit.interval.low, fit.interval.high) == pytest.approx(ends)
    assert fit.interval.level == 0.9


def test_the_interval_of_a_slope_covers_the_truth_at_its_level():
    # Gaussian noise on the logarithm makes the Student interval exact: the misses are Binomial(1500, 0.1).
    # Both tails are cut at 5e-7: false alarm 1e-6.
    random, runs = np.random.default_rng(0), 1500
    x = np.geomspace(1, 100, 6)
    misses = 0
    for _ in range(runs):
        y = 2 * x**1.5 * np.exp(0.3 * random.normal(size=6))
        misses += not fit_power_law(x, y, level=0.9).interval.contains(1.5)
    assert stats.binom.ppf(5e-7, runs, 0.1) <= misses <= stats.binom.isf(5e-7, runs, 0.1)


@given(units=st.floats(1e-6, 1e6))
def test_the_slope_does_not_depend_on_units(units):
    x, y = np.array([1.0, 2.0, 5.0, 9.0]), np.array([3.0, 2.0, 1.5, 0.2])
    plain, scaled = fit_power_law(x, y), fit_power_law(units * x, y / units)
    assert scaled.exponent == pytest.approx(plain.exponent, rel=1e-9)
    assert scaled.interval.low == pytest.approx(plain.interval.low, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1, 2], "`x` must hold at least 3 numbers, got shape (2,)."),
        ([1, 2, 3], [1, 2, 3, 4], "`x` and `y` must have the same length, got 3 and 4."),
        ([0, 1, 2], [1, 2, 3], "a log-log slope needs positive numbers."),
        ([1, 2, 3], [1, -2, 3], "a log-log slope needs positive numbers."),
        ([2, 2, 2], [1, 2, 3], "a log-log slope needs at least two different x."),
        ([1, 2, 3], [1, math.nan, 3], "`y` must hold finite numbers."),
    ],
)
def test_points_without_a_slope_are_refused(x, y, message):
    with pytest.raises(ValueError, match=exactly(message)):
        fit_power_law(x, y)


# Crossing points -------------------------------------------------------------------------------------

GRID = np.linspace(0, 6, 7)


@given(truth=st.floats(0.1, 5.9), slope=st.floats(0.1, 10), sign=st.sampled_from([-1, 1]))
def test_a_straight_curve_crosses_where_its_equation_says(truth, slope, sign):
    curve = 0.5 + sign * slope * (GRID - truth)
    assert crossing_point(GRID, [curve], 0.5).value == pytest.approx(truth, abs=1e-9)


@given(
    centre=st.floats(2, 4),
    width=st.floats(0.8, 3),
    level=st.floats(0.3, 0.7),
    sign=st.sampled_from([-1, 1]),
)
def test_a_gaussian_curve_crosses_exactly_on_the_probit_scale(centre, width, level, sign):
    curve = special.ndtr(sign * (GRID - centre) / width)
    truth = centre + sign * width * special.ndtri(level)
    assert crossing_point(GRID, [curve], level, transform="probit").value == pytest.approx(truth, abs=1e-9)


@given(level=st.floats(0.05, 0.95), transform=st.sampled_from(["linear", "probit"]))
def test_the_crossing_lies_between_its_two_grid_points(level, transform):
    curve = [0.0, 0.01, 0.2, 0.7, 0.99, 1.0, 1.0]
    value = crossing_point(GRID, curve, level, transform=transform).value
    left = int(np.searchsorted(curve, level)) - 1
    assert GRID[left] <= value <= GRID[left + 1]


def test_accuracies_of_zero_and_one_cross_in_the_middle_on_the_probit_scale():
    assert crossing_point([2.0, 4.0], [0.0, 1.0], 0.5, transform="probit").value == pytest.approx(3.0)
    assert crossing_point([2.0, 4.0], [1.0, 0.0], 0.5, transform="probit").value == pytest.approx(3.0)


@pytest.mark.parametrize("curve", [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])
@pytest.mark.parametrize("transform", ["linear", "probit"])
def test_a_grid_point_on_the_level_is_the_crossing(curve, transform):
    assert crossing_point([1.0, 2.0, 3.0], curve, 0.5, transform=transform).value == pytest.approx(2.0)


def test_reaching_the_level_from_below_is_a_crossing_and_touching_it_from_above_is_not():
    assert crossing_point([0, 1], [0.4, 0.5], 0.5).value == 1
    for curve in ([0.6, 0.5], [0.5, 0.6], [0.5, 0.5]):
        with pytest.raises(ValueError, match="stays above"):
            crossing_point([0, 1], curve, 0.5)


def test_the_first_of_several_crossings_counts():
    assert crossing_point([0, 1, 2, 3], [0.0, 1.0, 0.0, 1.0], 0.5).value == 0.5


def test_the_interval_is_students_over_the_seeds_own_crossings():
    truths = [2.2, 2.9, 3.1, 3.4]
    curves = np.array([0.5 + 0.1 * (GRID - truth) for truth in truths])
    estimate = crossing_point(GRID, curves, 0.5, level=0.9)
    reference = t_interval(truths, 0.9)
    assert estimate.value == pytest.approx(np.mean(truths))
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((reference.low, reference.high))
    assert estimate.interval.level == 0.9


def test_a_single_seed_gives_a_value_and_an_infinite_interval():
    estimate = crossing_point(GRID, 0.5 + 0.1 * (GRID - 2.5), 0.5)
    assert estimate.value == pytest.approx(2.5)
    assert estimate.interval == Interval(-math.inf, math.inf)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ([0, 1], [0.6, 0.9], 0.5),
            {},
            "the curve stays above 0.5 on the whole grid: no crossing to report.",
        ),
        (
            ([0, 1], [0.1, 0.4], 0.5),
            {},
            "the curve stays below 0.5 on the whole grid: no crossing to report.",
        ),
        (
            ([0, 1], [[0, 1], [0, 0.1]], 0.5),
            {},
            "the curve stays below 0.5 on the whole grid: no crossing to report.",
        ),
        (([1, 0], [0, 1], 0.5), {}, "`x` must increase."),
        (([0, 1], [0, 1, 2], 0.5), {}, "`curves` must have shape (seeds, 2), got (1, 3)."),
        (([0, 1], np.zeros((0, 2)), 0.5), {}, "`curves` must have shape (seeds, 2), got (0, 2)."),
        (([0, 1], [0, math.nan], 0.5), {}, "`curves` must hold finite numbers."),
        (
            ([0, 1], [0, 1], 0.5),
            {"transform": "logit"},
            "`transform` of `crossing_point` must be one of 'linear', 'probit'; got 'logit'.",
        ),
        (
            ([0, 1], [0, 2], 0.5),
            {"transform": "probit"},
            "`curves` must lie in [0, 1] for the probit transform.",
        ),
        (
            ([0, 1], [0.9, 1], 1.0),
            {"transform": "probit"},
            "`height` of `crossing_point` is too near 0 or 1 for the probit, got 1.0.",
        ),
    ],
)
def test_a_crossing_that_cannot_be_read_off_is_an_error(arguments, options, message):
    with pytest.raises(ValueError, match=exactly(message)):
        crossing_point(*arguments, **options)


def test_a_crossing_has_a_direction():
    x, up = [1.0, 2.0, 3.0], [[0.1, 0.4, 0.9], [0.2, 0.4, 0.8]]
    assert crossing_point(x, up, 0.5, rising=True) == crossing_point(x, up, 0.5)
    with pytest.raises(ValueError, match="must all fall"):
        crossing_point(x, up, 0.5, rising=False)
