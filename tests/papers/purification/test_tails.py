"""Exact tails of sums against enumeration, draws and limits."""

import itertools
import math

import numpy as np
import pytest

from karat.papers.purification.bounds_tails import bernstein_exponent, mcdiarmid, sign_tail, skew_tail


@pytest.mark.parametrize("t", [-7.0, 0.0, 0.5, 1.0, 2.0, 5.0, 7.0])
def test_tails_of_signs_are_those_of_all_sign_vectors(t):
    sums = [sum(signs) for signs in itertools.product((-1, 1), repeat=7)]
    assert math.exp(sign_tail(7, t)) == pytest.approx(np.mean([s >= t for s in sums]))


def test_no_sum_of_signs_is_larger_than_their_number():
    assert sign_tail(7, 8.0) == -math.inf


@pytest.mark.parametrize(("up", "t"), [(0.5, 0.0), (0.25, 1.0), (0.1, 2.5), (0.1, 9.0)])
def test_tails_of_skew_walks_are_those_of_all_walks(up, t):
    down = -up / (1 - up)
    total = 0.0
    for steps in itertools.product((0, 1), repeat=10):
        if sum(1.0 if s else down for s in steps) > t + 1e-9:
            total += math.prod(up if s else 1 - up for s in steps)
    assert math.exp(skew_tail(10, t, up)) == pytest.approx(total)


def test_a_walk_of_mean_zero_has_the_square_that_the_bound_is_told():
    up = 0.1
    down = up / (1 - up)
    assert up - (1 - up) * down == pytest.approx(0)
    assert up + (1 - up) * down**2 == pytest.approx(up / (1 - up))


@pytest.mark.parametrize(("c", "variance"), [(1.0, 0.3), (1.0, 30.0), (0.1, 5.0)])
def test_a_quarter_is_the_constant_of_the_best_eta(c, variance):
    """min over eta in (0, 1) of eta^2 V/(4 c^2) - eta t/(2 c), on a grid."""
    eta = np.linspace(1e-4, 1, 20_000)
    for t in (0.01, 0.5, 3.0, 100.0):
        best = (eta**2 * variance / (4 * c**2) - eta * t / (2 * c)).min()
        assert best <= -bernstein_exponent(t, c, variance) / 4 + 1e-6


def test_mcdiarmid_of_one_bounded_variable_is_hoeffding():
    assert mcdiarmid(1.0, 4.0) == pytest.approx(0.5)
    assert mcdiarmid(0.0, 4.0) == 0.0
