"""Accuracy under attack against exact answers of a linear net; angles of filters against direct sums."""

import math

import pytest
import torch
from torch import nn

from karat.core.ball import Ball
from karat.probes.cosines import chance_cosine, cosines_between, pairwise_cosines
from karat.probes.image_accuracy import accuracy, attacker_accuracy, correct, robust, robust_accuracy
from karat.probes.live_rows import live_filters
from karat.training.images.attackers import named_attacker


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def linear():
    """A linear net of two logits +-<w, x>: its robust images are known exactly."""
    w = torch.randn(12, generator=_generator(1))
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 2, bias=False))
    with torch.no_grad():
        net[1].weight.copy_(torch.stack([-w, w]))
    x = torch.rand(300, 3, 2, 2, generator=_generator(2))
    labels = (torch.rand(300, generator=_generator(3)) < 0.5).long()
    margin = (2 * labels - 1) * (x.flatten(1) @ w) * 2
    return net, x, labels, margin, 2 * w


def test_accuracy_counts_the_largest_logit(linear):
    net, x, labels, margin, _ = linear
    assert torch.equal(correct(net, x, labels), margin > 0)
    assert accuracy(net, x, labels) == pytest.approx(float((margin > 0).double().mean()))


@pytest.mark.slow
@pytest.mark.parametrize("p", [2.0, math.inf])
def test_robust_images_of_a_linear_net_are_those_with_margin_above_tau_times_the_dual_norm(linear, p):
    net, x, labels, margin, w = linear
    dual = w.norm() if p == 2 else w.abs().sum()
    found = robust(net, x, labels, Ball(p, 0.05), generator=_generator(), steps=15, restarts=1)
    clear = (margin - 0.05 * dual).abs() > 1e-4
    assert torch.equal(found[clear], (margin > 0.05 * dual)[clear])


@pytest.mark.slow
def test_radius_zero_is_clean_accuracy_and_more_restarts_never_help_the_net(linear):
    net, x, labels, _, _ = linear
    zero = robust_accuracy(net, x, labels, Ball(2, 0.0), generator=_generator(), steps=3, restarts=1)
    assert zero == accuracy(net, x, labels)
    few = robust(net, x, labels, Ball(2, 0.1), generator=_generator(), steps=2, restarts=0)
    many = robust(net, x, labels, Ball(2, 0.1), generator=_generator(), steps=2, restarts=2)
    assert bool((few | ~many).all())


def test_an_attackers_copies_are_scored_one_by_one(linear):
    net, x, labels, margin, w = linear
    quiet = attacker_accuracy(net, x, labels, named_attacker("l2:0.05"), generator=_generator())
    assert quiet == pytest.approx(float((margin > 0.05 * w.norm()).double().mean()), abs=0.01)
    noisy = attacker_accuracy(net, x, labels, named_attacker("noise:0.5"), generator=_generator())
    copies, truth = named_attacker("noise:0.5").copies(net, x[:250], labels[:250], generator=_generator())
    assert 0 <= noisy <= 1
    assert len(copies) == 2 * 250
    assert truth.tolist() == labels[:250].tolist() * 2


def test_chance_level_is_the_mean_of_random_directions():
    """Monte-Carlo over 4000 pairs in 363 dimensions: standard error 0.0005."""
    a, b = (torch.randn(4000, 363, generator=_generator(s), dtype=torch.float64) for s in (1, 2))
    cosines = torch.nn.functional.cosine_similarity(a, b, dim=1).abs()
    assert float(cosines.mean()) == pytest.approx(chance_cosine(363), abs=0.003)


def test_angles_are_those_of_the_live_rows_only():
    A = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1e-6, 0.0]])
    B = torch.tensor([[2.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    live = live_filters(A)
    assert live.tolist() == [True, True, True, False]
    angles = cosines_between(A, B, live)
    assert angles.mean == pytest.approx(2 / 3)
    assert angles.small == pytest.approx(1 / 3)
    assert angles.large == pytest.approx(2 / 3)
    pairs = pairwise_cosines(A, live)
    assert pairs.mean == pytest.approx((0 + 2 * 0.5**0.5) / 3, abs=1e-6)
    assert pairs.small == pytest.approx(1 / 3)


def test_a_single_filter_has_no_pairs_and_no_live_filter_is_refused():
    W = torch.ones(1, 4)
    assert pairwise_cosines(W, live_filters(W)).small == 1.0
    with pytest.raises(ValueError, match="needs a live row"):
        cosines_between(W, W, torch.tensor([False]))


def test_zero_filters_are_dead():
    assert live_filters(torch.zeros(3, 4)).tolist() == [False] * 3
