"""The size from which on a row along the dense direction outgrows the threshold."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from karat.papers.purification.bounds_hubs import pace, self_waking_ratio
from karat.papers.purification.experiments.hubs import HUBS, PLANTED
from karat.study.run import read_runs


def gaussian_scores(n=400_000):
    u = np.random.default_rng(0).standard_normal(n)
    return u, np.abs(u)


def test_for_gaussian_scores_the_ratio_solves_the_closed_equation():
    # E[|u|; |u| > c] = sqrt(2/pi) exp(-c^2/2): the pace at s = 1/c is c exp(-c^2/2)/sqrt(2 pi).
    for speed in (0.02, 0.05, 0.1):
        c = brentq(lambda c, s=speed: c * math.exp(-(c**2) / 2) / math.sqrt(2 * math.pi) - s, 1, 6)
        found = self_waking_ratio(*gaussian_scores(), speed, root_variance=1.0)
        # The grid of ratios has steps of 1.5%, and the tail of the sample has its own error.
        assert found == pytest.approx(1 / c, rel=0.03)


def test_the_ratio_is_where_the_pace_reaches_the_speed():
    u, gains = gaussian_scores(20_000)
    ratio = self_waking_ratio(u, gains, 0.05, root_variance=1.0)
    assert pace(ratio, u, gains) >= 0.05 > pace(ratio / 1.02, u, gains)


def test_the_ratio_has_no_unit():
    u, gains = gaussian_scores(20_000)
    # Scores in units twice as small: gains and speed, in units of the score squared, grow fourfold.
    assert self_waking_ratio(2 * u, 2 * gains, 4 * 0.05, root_variance=2.0) == pytest.approx(
        self_waking_ratio(u, gains, 0.05, root_variance=1.0)
    )


def test_labels_that_do_not_follow_the_score_wake_no_row():
    u, gains = gaussian_scores(20_000)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], len(u))
    assert self_waking_ratio(u, signs * gains, 0.05, root_variance=1.0) == math.inf


def test_a_threshold_that_hardly_moves_is_outgrown_by_every_row_that_wakes():
    u = np.array([1.0, -1.0])
    # The row wakes from the ratio one on, and then grows at once.
    assert self_waking_ratio(u, np.abs(u), 1e-9, root_variance=1.0) == pytest.approx(1, rel=0.02)


def test_the_equation_predicts_the_simulated_row():
    """Integrate the two equations of the module for a row just below and just above the ratio."""
    u, gains = gaussian_scores(20_000)
    speed = 0.05
    ratio = self_waking_ratio(u, gains, speed, root_variance=1.0)
    for factor, grows in ((0.9, False), (1.1, True)):
        b = 1.0
        gamma = factor * ratio * b
        for _ in range(400):
            step = 0.05 * b
            awake = np.abs(u) * gamma > b
            gamma, b = gamma + step * 0.5 * (gains * awake).mean(), b + step * speed
        assert (gamma / b > ratio) == grows


def test_planted_rows_have_the_sizes_that_were_asked_for(records):
    for run in read_runs(HUBS, records(HUBS.name)):
        sizes = np.array(run.result.planted) / run.result.predicted_ratio
        assert sizes == pytest.approx(PLANTED)
