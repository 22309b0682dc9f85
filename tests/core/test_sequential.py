"""Intervals that may be looked at after every seed: their coverage holds at all numbers of seeds at once."""

import math

import numpy as np
import pytest
from scipy import stats

from karat.core.sequential import (
    anytime_bounded_interval,
    anytime_proportion_interval,
    anytime_proportion_p_value,
    anytime_t_factors,
    anytime_t_interval,
    anytime_t_p_value,
)
from karat.core.statistics import clopper_pearson, t_interval

LOOKS = (2, 3, 5, 8, 12)


def flags_interval(values, level=0.95):
    return anytime_proportion_interval(int(sum(values)), len(values), level)


def misses(interval, draws, mean):
    """How many rows are not covered at some look."""
    return sum(any(not interval(row[:n], 0.9).contains(mean) for n in LOOKS) for row in draws)


@pytest.mark.parametrize(
    ("interval", "draw", "mean"),
    [
        (anytime_t_interval, lambda g, shape: g.normal(3.0, 0.1, shape), 3.0),
        (anytime_bounded_interval, lambda g, shape: g.beta(0.3, 0.5, shape), 0.375),
        (anytime_bounded_interval, lambda g, shape: 0.9 * (g.random(shape) < 0.1), 0.09),
        (flags_interval, lambda g, shape: g.random(shape) < 0.3, 0.3),
    ],
    ids=["gaussian", "bounded", "rare outliers", "flags"],
)
def test_looking_after_every_seed_keeps_the_coverage(interval, draw, mean):
    rows = 60
    # At most a tenth of the rows may miss; more than this many has probability below 1e-6.
    allowed = stats.binom.isf(1e-6, rows, 0.1)
    assert misses(interval, draw(np.random.default_rng(0), (rows, LOOKS[-1])), mean) <= allowed


def test_the_student_interval_does_not_survive_being_looked_at():
    draws = np.random.default_rng(0).normal(0.0, 1.0, (400, LOOKS[-1]))
    assert misses(t_interval, draws, 0.0) > stats.binom.isf(1e-6, 400, 0.1)


@pytest.mark.parametrize("interval", [anytime_t_interval, anytime_bounded_interval, flags_interval])
def test_the_order_of_the_values_does_not_matter(interval):
    values = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    one, other = interval(values), interval(values[::-1])
    assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_valid_at_all_times_costs_width():
    values = np.random.default_rng(1).normal(0.4, 0.05, 12)
    narrow, wide = t_interval(values), anytime_t_interval(values)
    assert wide.low < narrow.low < narrow.high < wide.high
    fixed, always = clopper_pearson(3, 12), anytime_proportion_interval(3, 12)
    assert always.low < fixed.low < fixed.high < always.high


def test_many_values_pin_the_mean_down():
    values = np.random.default_rng(2).random(4000)
    for interval in (anytime_t_interval(values), anytime_bounded_interval(values)):
        assert interval.contains(0.5)
        assert interval.high - interval.low < 0.1


def test_one_value_says_nothing_about_gaussians_and_little_about_bounded_values():
    assert anytime_t_interval([0.5]).low == -math.inf
    interval = anytime_bounded_interval([0.5])
    assert 0 <= interval.low < 0.2
    assert 0.8 < interval.high <= 1


def test_three_equal_seeds_decide_a_gaussian_and_not_a_bounded_mean():
    assert anytime_t_interval([0.1, 0.1, 0.1]).high < 0.3
    assert anytime_bounded_interval([0.1, 0.1, 0.1]).high > 0.3


def test_the_ends_of_the_range_are_reached():
    assert anytime_proportion_interval(0, 4).low == 0.0
    assert anytime_proportion_interval(4, 4).high == 1.0
    assert anytime_bounded_interval([0.0] * 5).low == 0.0
    assert anytime_bounded_interval([1.0] * 5).high == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: anytime_t_interval([]), "at least one finite number"),
        (lambda: anytime_t_interval([math.nan]), "at least one finite number"),
        (lambda: anytime_t_interval([1.0], 1.0), "strictly between 0 and 1"),
        (lambda: anytime_bounded_interval([1.5]), r"must lie in \[0, 1\]"),
        (lambda: anytime_proportion_interval(3, 2), "must be at most 2, got 3"),
    ],
)
def test_what_is_no_sample_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_an_end_of_an_interval_has_the_p_value_of_its_level(level):
    values = [0.3, 0.1, 0.25, 0.4, 0.2, 0.35]
    for end in (anytime_t_interval(values, level).low, anytime_t_interval(values, level).high):
        assert anytime_t_p_value(values, end) == pytest.approx(1 - level)
    interval = anytime_proportion_interval(7, 30, level)
    for end in (interval.low, interval.high):
        assert anytime_proportion_p_value(7, 30, end) == pytest.approx(1 - level)


def test_p_values_at_the_mean_and_without_spread():
    assert anytime_t_p_value([1.0, 2.0, 3.0], 2.0) == 1.0
    assert anytime_t_p_value([2.0, 2.0, 2.0], 2.0) == 1.0
    assert anytime_t_p_value([2.0, 2.0, 2.0], 1.0) == 0.0
    assert anytime_proportion_p_value(3, 10, 0.3) == 1.0
    assert anytime_proportion_p_value(10, 10, 0.0) == 0.0


def test_factors_are_the_half_widths_in_standard_deviations():
    values = np.random.default_rng(3).normal(size=9)
    interval = anytime_t_interval(values)
    [one, two, nine] = anytime_t_factors(np.array([1, 2, 9]))
    assert (interval.high - interval.low) / 2 == pytest.approx(nine * values.std(ddof=1))
    assert one == two == math.inf
    assert anytime_t_interval([1.0, 1.0]).high == math.inf
