"""Exact shares of lucky neurons against draws, other formulas and limits."""

import math

import pytest
import torch
from scipy.special import ndtr

from karat.papers.purification.bounds_tickets import every_feature_from, log_tail, lucky_shares
from karat.papers.purification.experiments import tickets
from karat.papers.purification.experiments.tickets import TicketsConfig


def test_shares_are_those_of_drawn_neurons():
    config = TicketsConfig(d=100, width=300)
    drawn = tickets.run(config, torch.Generator().manual_seed(0))
    law = lucky_shares(math.log(100), 1.01)
    five = 5 / (2 * math.sqrt(config.m))  # standard deviations of a share: a false alarm below 1e-6
    assert abs(1 - math.exp(law.unusual) - drawn.ordinary_share) < five
    assert abs(math.exp(law.potential) - drawn.lucky_share) < five
    assert abs(math.exp(law.sure) - drawn.surely_lucky_share) < five


@pytest.mark.parametrize("digits", [1.0, 12.9, 13.1, 15.0])
def test_large_and_small_dimensions_share_one_formula(digits):
    log_d = digits * math.log(10)
    q = 2 * ndtr(-math.sqrt(2.01 * log_d))
    assert math.exp(log_tail(2.01, log_d)) == pytest.approx(q)
    some = -math.expm1(10**digits * math.log1p(-q))
    assert math.exp(lucky_shares(log_d, 1.0).potential) == pytest.approx(some, rel=1e-9)


def test_exponents_tend_to_half_of_what_the_levels_exceed_two_by():
    log_d = 1e8
    law = lucky_shares(log_d, 1.01)
    assert -law.potential / log_d == pytest.approx(0.005, rel=1e-3)
    assert -law.sure / log_d == pytest.approx(0.01, rel=1e-3)


def test_a_feature_never_expects_a_sure_neuron_at_width_1_01():
    for digits in (1.0, 10.0, 1e3, 1e6):
        assert lucky_shares(digits * math.log(10), 1.01).sure_per_feature < 0
    assert every_feature_from(1.01) == math.inf
    digits = every_feature_from(1.0125)
    log_d = digits * math.log(10)
    assert lucky_shares(log_d, 1.0125).sure_per_feature == pytest.approx(math.log(4 * log_d))
