"""Pure parts and mixtures of neurons whose make-up is known."""

import pytest
import torch

from karat.data import unitary
from karat.probes.cosines import abs_cosine, alignment_with_start, mean_pairwise_cosine, weight_coherence
from karat.probes.dense_mixture import feature_coverage, split_mixture
from karat.probes.live_rows import grown_neurons
from karat.probes.movement import relative_movement, relative_movement_along

D = 20


@pytest.fixture
def known():
    """w_i = 0.8 w*_i M_i + 0.02 sum of the other w*_j M_j, in a rotated dictionary."""
    g = torch.Generator().manual_seed(0)
    M = unitary(D, generator=g)
    signs = torch.where(torch.rand(D, generator=g, dtype=torch.float64) < 0.5, -1.0, 1.0)
    w_star = signs * (0.7 + 0.6 * torch.rand(D, generator=g, dtype=torch.float64))
    C = torch.full((D, D), 0.02, dtype=torch.float64).fill_diagonal_(0.8) * w_star
    return C @ M.T, M, w_star


def test_split_recovers_a_known_mixture(known):
    part = split_mixture(*known)
    assert torch.equal(part.own_count, torch.ones(D, dtype=torch.int64))
    assert torch.equal(part.top, torch.arange(D))
    assert torch.allclose(part.mean_beta, torch.full((D,), 0.02, dtype=torch.float64))
    assert torch.allclose(part.alpha, 0.8 * known[2].abs())
    assert bool((part.aligned == 1).all())
    # The mixture is parallel to w*: its component along w* is all of it.
    assert torch.allclose(part.along, part.dense_norm)
    total = part.pure_norm.square() + part.dense_norm.square()
    assert torch.allclose(total, known[0].square().sum(dim=1))


def test_papers_mean_counts_every_pair(known):
    W, M, w_star = known
    dead = torch.cat([W, torch.zeros(D, D, dtype=torch.float64)])
    expected = 0.02 * (D - 1) / D
    assert split_mixture(W, M, w_star).paper_mean() == pytest.approx(expected)
    assert split_mixture(dead, M, w_star).paper_mean() == pytest.approx(expected / 2)


def test_given_sets_replace_the_default(known):
    W, M, w_star = known
    nothing = torch.zeros(D, D, dtype=torch.bool)
    assert split_mixture(W, M, w_star, own=nothing).pure_norm.max() == 0


def test_coverage_needs_the_right_sign(known):
    W, M, w_star = known
    assert feature_coverage(split_mixture(W, M, w_star)) == 1
    assert feature_coverage(split_mixture(-W, M, w_star)) == 0
    assert feature_coverage(split_mixture(W[:5], M, w_star)) == pytest.approx(5 / D)


def test_angles_at_their_ends():
    eye, ones = torch.eye(4), torch.ones(4, 4)
    assert abs_cosine(eye, -2 * eye).tolist() == [1, 1, 1, 1]
    assert alignment_with_start(eye, eye) == 1
    assert alignment_with_start(eye, eye.roll(1, 0)) == 0
    assert weight_coherence(eye) == 0.25
    assert weight_coherence(ones) == pytest.approx(1)
    assert mean_pairwise_cosine(eye) == 0
    assert mean_pairwise_cosine(ones) == pytest.approx(1)


def test_a_few_long_hubs_do_not_change_who_is_live():
    winners, losers, hubs = 0.5 * torch.eye(4), 0.01 * torch.eye(4), 50 * torch.ones(2, 4)
    rows = torch.cat([winners, losers, hubs])
    assert grown_neurons(rows, 0.1).tolist() == [True] * 4 + [False] * 4 + [True] * 2
    assert grown_neurons(rows[:-2], 0.1).tolist() == grown_neurons(rows, 0.1)[:-2].tolist()


def test_a_row_that_is_not_longer_than_the_threshold_wakes_on_no_unit_vector():
    W = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    live = grown_neurons(W, 2.5)
    # The unit vector along a row is the one that wakes it first.
    woken = (W @ torch.nn.functional.normalize(W, dim=1).T).diagonal() > 2.5
    assert 0 < int(live.sum()) < 50
    assert torch.equal(live, woken)


def test_coherence_is_the_sum_over_pairs():
    W = torch.randn(7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    brute = sum(float(a @ b) ** 2 for a in W for b in W) / float(W.square().sum()) ** 2
    assert weight_coherence(W) == pytest.approx(brute)


def test_movement_splits_along_and_across():
    start = torch.eye(3)
    v = torch.tensor([1.0, 1.0, 1.0])
    moved = start + 0.1 * v
    assert relative_movement(moved, start) == pytest.approx(0.09 / 3)
    assert relative_movement_along(moved, start, v) == pytest.approx(relative_movement(moved, start))
    assert relative_movement_along(start + torch.tensor([0.1, -0.1, 0.0]), start, v) == pytest.approx(
        0, abs=1e-12
    )
