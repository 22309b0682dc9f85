"""Lottery sets on hand-made coefficients, and their counts against Gaussian tails."""

import math

import pytest
import torch

from karat.papers.purification.bounds import ticket_counts
from karat.probes.lottery import TicketRule, finite_tickets, inclusion, ordinary_neurons, tickets

RULE = TicketRule(c0=0.3, d=4, k=2)


def test_levels_move_with_the_threshold():
    c = torch.tensor([[1.1, 0.0, 0.0, 0.0]])
    w_star = torch.ones(4)
    assert tickets(c, w_star, 1.0, RULE).sure.tolist() == [[True, False, False, False]]
    assert not tickets(c, w_star, 2.0, RULE).sure.any()
    assert tickets(2 * c, w_star, 2.0, RULE).sure.any()


def test_sure_winners_are_alone_and_have_the_right_sign_but_potential_ones_need_not():
    w_star = torch.tensor([1.0, -1.0, 1.0, 1.0])
    c = torch.tensor([[1.2, 0.0, 0.0, 0.0], [0.0, 1.2, 0.0, 0.0], [1.2, 0.0, 1.2, 0.0]])
    sets = tickets(c, w_star, 1.0, RULE)
    assert sets.sure.any(dim=1).tolist() == [True, False, False]
    assert sets.potential.any(dim=1).tolist() == [True, True, True]
    assert bool((sets.sure <= sets.potential).all())


def test_grown_winners_exceed_twice_root_k():
    c = torch.tensor([[2 * math.sqrt(2) + 1e-3, 0.0, 0.0, 0.0]])
    assert tickets(c, torch.ones(4), 1.0, RULE).sure_plus.any()
    assert not tickets(0.99 * c, torch.ones(4), 1.0, RULE).sure_plus.any()


def test_ordinary_neurons_have_few_large_coordinates():
    rule = TicketRule(c0=0.3, d=200, k=20)
    c = torch.zeros(2, 200)
    c[0, 0], c[1, :10] = 2.0, 2.0
    assert ordinary_neurons(c, 1.0, rule).ept.tolist() == [True, False]
    assert ordinary_neurons(0.3 * c, 1.0, rule).ept_plus.tolist() == [True, False]
    assert ordinary_neurons(c, 1.0, rule).ept_plus.tolist() == [False, False]  # too long


def test_counts_at_initialisation_follow_the_tails():
    """Sums of 12,000 x 100 indicators: within five standard deviations, false alarm below 1e-5."""
    d, m, c0, gamma = 100, 12_000, 0.3, 0.05
    rule = TicketRule(c0=c0, d=d, k=10, gamma=gamma)
    first = torch.randn(m, d, generator=torch.Generator().manual_seed(0))
    sets = tickets(first, torch.ones(d), math.sqrt(rule.c1 * math.log(d)), rule)
    counts = ticket_counts(d, m, c0, gamma)
    for found, expected in ((sets.sure, counts.sure * d), (sets.potential, counts.potential * d)):
        assert abs(int(found.sum()) - expected) < 5 * math.sqrt(expected)


def test_stand_ins_look_at_signed_coefficients():
    w_star = torch.tensor([1.0, -1.0])
    guess = finite_tickets(torch.tensor([[0.5, 2.0], [1.2, 0.0]]), w_star, 1.0)
    assert guess.favourite.tolist() == [0, 0]
    assert guess.clear.tolist() == [False, True]


def test_inclusion_of_nothing_is_one():
    nothing = torch.zeros(3, dtype=torch.bool)
    assert inclusion(nothing, nothing) == 1


@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_gamma_outside_its_range_is_refused(gamma):
    with pytest.raises(ValueError, match="`gamma` of `TicketRule`"):
        TicketRule(c0=0.3, d=10, k=2, gamma=gamma)
