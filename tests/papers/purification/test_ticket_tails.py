"""Expected numbers of sure winners, far beyond every drawable dimension."""

import math

import pytest
import torch

from karat.papers.purification.bounds import sure_winners_from, ticket_counts
from karat.papers.purification.experiments.ticket_tails import TailsConfig, log_sure_winners, run


@pytest.mark.parametrize("d", [50, 200, 10_000])
def test_the_logarithm_agrees_with_the_expected_number_where_floats_reach(d):
    c0, gamma = 0.5, 0.1
    expected = ticket_counts(d, round(d ** (1 + c0)), c0, gamma).sure
    assert math.exp(log_sure_winners(math.log(d), c0, gamma)) == pytest.approx(expected, rel=2e-3)


def test_drawn_rows_have_the_expected_number():
    d, c0, gamma = 60, 0.8, 0.1
    m = round(d ** (1 + c0))
    rows = torch.randn(40 * m, d, generator=torch.Generator().manual_seed(0))
    c1, c2 = 2 + 2 * (1 - gamma) * c0, gamma * c0
    high, low = (math.sqrt((c1 + sign * c2) * math.log(d)) for sign in (1, -1))
    alone = (rows.abs() >= low).sum(dim=1, keepdim=True) == 1
    found = float(((rows >= high) & alone).sum()) / (40 * d)
    expected = math.exp(log_sure_winners(math.log(d), c0, gamma))
    # About 40 d expected = 250 winners: four standard deviations are a quarter.
    assert found == pytest.approx(expected, rel=4 / math.sqrt(40 * d * expected))


def test_the_leading_term_finds_the_dimension_of_the_exact_tails():
    for c0, gamma in ((1.0, 0.1), (0.3, 0.02)):
        result = run(TailsConfig(c0=c0, gamma=gamma), torch.Generator())
        assert result.first == pytest.approx(sure_winners_from(c0, gamma), rel=0.01)


def test_just_below_the_first_dimension_too_few_are_expected():
    first = run(TailsConfig(c0=1.0, gamma=0.1), torch.Generator()).first * math.log(10)
    for factor, enough in ((0.99, False), (1.01, True)):
        log_d = factor * first
        assert (log_sure_winners(log_d, 1.0, 0.1) >= math.log(4 * log_d)) == enough
