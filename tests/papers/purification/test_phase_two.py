"""Training after the lottery: what is measured against dense nets, finite differences and limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from karat.papers.purification.bounds_second_phase import of_winners, short_neurons_from
from karat.papers.purification.experiments.phase_two import run
from karat.papers.purification.experiments.phase_two_config import PhaseTwoConfig
from karat.papers.purification.experiments.phase_two_measures import (
    coupled,
    growth,
    lipschitz,
    look_at,
    noise_growth,
    slope_of_loss,
    with_code,
)
from karat.reductions.symmetric import NeuronClass, SparsePoints, SymmetricNet, draw_points
from karat.study.registry import CHECKS

CONFIG = PhaseTwoConfig(d=100, k_power=0.45, n_test=40, n_few=10)
NET = SymmetricNet(d=100, alpha=0.9, beta=0.03, gamma=0.02, threshold=0.2, sigma_rho=0.1, hubs=3)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def points() -> SparsePoints:
    return draw_points(CONFIG.code, 30, generator=np.random.default_rng(0))


@pytest.fixture
def dense(points) -> np.ndarray:
    """The same points with all coordinates, and turned around: both are as likely."""
    table = points.dense(points.positions(np.random.default_rng(1)))
    return np.concatenate([table, -table])


def weights() -> np.ndarray:
    W = np.full((100, 100), NET.beta)
    np.fill_diagonal(W, NET.alpha)
    return W


def outputs(x: np.ndarray) -> np.ndarray:
    def half(v):
        p = (v - NET.threshold) / NET.sigma_rho
        return NET.sigma_rho * (p * ndtr(p) + np.exp(-(p**2) / 2) / math.sqrt(2 * math.pi))

    u, hub = x @ weights().T, NET.gamma * x.sum(axis=1)
    return (half(u) - half(-u)).sum(axis=1) + NET.hubs * (half(hub) - half(-hub))


def labelled_gates(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n, m) y l' 1[u >= b], one half of every pair."""
    gate = ndtr((x @ weights().T - NET.threshold) / NET.sigma_rho)
    return (y / (1 + np.exp(y * outputs(x))))[:, None] * gate


def test_growth_is_that_of_the_dense_net_averaged_over_features(points, dense):
    y = np.concatenate([points.label, -points.label])
    table = 100 * labelled_gates(dense, y).T @ dense / len(dense)
    own = np.trace(table) / 100
    found = growth(CONFIG, look_at(NET, points, points.label))
    assert found["own"] == pytest.approx(own, rel=1e-6)
    hub = ndtr((NET.gamma * dense.sum(axis=1) - NET.threshold) / NET.sigma_rho)
    hub = hub * dense.sum(axis=1) * y / (1 + np.exp(y * outputs(dense)))
    other = (table.sum() - np.trace(table)) / (100 * 99)
    assert found["others"] == pytest.approx(max(abs(other), abs(hub.mean())), rel=1e-6)


def test_noise_growth_is_the_derivative_of_the_labelled_gates(points, dense):
    """E[g(x + xi) xi_j] = sigma^2 E[g'] for small sigma, with g' by differences along every coordinate."""
    y = np.concatenate([points.label, -points.label])
    table, h = np.zeros((100, 100)), 1e-5
    for j in range(100):
        step = np.zeros(100)
        step[j] = h
        up, down = labelled_gates(dense + step, y), labelled_gates(dense - step, y)
        table[:, j] = (up - down).mean(axis=0) / (2 * h)
    found = noise_growth(NET.replace(gamma=NET.gamma), look_at(NET, points, points.label))
    assert found["own_noise"] == pytest.approx(abs(np.trace(table)) / 100, rel=1e-4)
    other = abs(table.sum() - np.trace(table)) / (100 * 99)
    assert found["other_noise"] >= other * (1 - 1e-4)
    without = NET.replace(hubs=0, gamma=0.0)
    alone = noise_growth(without, look_at(without, points, points.label))
    assert alone["other_noise"] == pytest.approx(other, rel=0.2)


def test_one_more_code_is_added_to_every_point(points):
    moved = with_code(points, 0.5)
    assert moved.support.tolist() == (points.support + 1).tolist()
    assert moved.score == pytest.approx(points.score + 0.5)


def test_lipschitz_is_at_most_the_own_coordinate_and_the_excess(points):
    found = lipschitz(CONFIG, NET, points)
    assert 0 < found["lipschitz"] <= NET.alpha + found["excess"]
    pure = NET.replace(beta=0.0, gamma=0.0, threshold=0.0, sigma_rho=0.0)
    assert lipschitz(CONFIG, pure, points) == {"lipschitz": pytest.approx(NET.alpha), "excess": 0.0}


def test_a_net_without_threshold_and_noise_is_coupled_exactly(points):
    pure = NET.replace(beta=0.0, gamma=0.0, threshold=1e-9, sigma_rho=1e-12)
    found = coupled(CONFIG, pure, points, np.random.default_rng(0))
    assert found["deviation"] < 1e-6
    assert found["unmatched"] < -1e4


def test_the_remainder_of_unlisted_neurons_is_their_mean(points):
    noisy = NET.replace(sigma_rho=0.3)
    drawn = [coupled(CONFIG, noisy, points, np.random.default_rng(seed))["rest"] for seed in range(40)]
    assert np.std(drawn) < np.mean(drawn)


def test_the_slope_of_the_loss_is_right_on_both_sides():
    assert slope_of_loss(np.array([0.0, -800.0])) == pytest.approx([0.5, 1.0])
    assert float(slope_of_loss(np.array(100.0))) == pytest.approx(math.exp(-100))


def test_the_same_seed_gives_the_same_result():
    config = PhaseTwoConfig(d=10**9, n_test=20, n_few=4, steps=4, batch=4)
    assert run(config, generator()) == run(config, generator())


def test_without_training_there_is_no_mixture():
    result = run(PhaseTwoConfig(d=10**9, n_test=20, n_few=4, steps=0), generator())
    assert result.beta == [0.0]
    assert result.excess == [0.0]
    assert result.slope[0] == pytest.approx(0.5, abs=0.01)


def test_steep_nets_have_a_smaller_mean_slope():
    result = run(PhaseTwoConfig(d=10**9, n_test=200, n_few=4, steps=16), generator())
    assert result.slopes == sorted(result.slopes, reverse=True)


def test_the_conditions_on_winners_are_unmet_for_long_neurons():
    rule = replace(CONFIG, d=10**9).rule
    met = of_winners(rule, 0.01, 0.3, 1e-8, 0.0, 0.3)
    unmet = of_winners(rule, 0.01, 0.005, 1.0, 0.0, 900.0)
    assert [condition.status for condition in met] == ["met"] * 4
    assert "unmet" in [condition.status for condition in unmet]


def test_neurons_without_a_feature_must_have_none():
    rule = replace(CONFIG, d=10**9).rule
    hubs = of_winners(rule, 0.01, 0.3, 1e-8, 0.1, 0.3)
    assert [condition.status for condition in hubs] == ["met", "met", "unmet", "unmet"]


def test_nets_of_several_classes_are_refused(points):
    two, draws = NET.replace(more=(NeuronClass(alpha=0.5),)), np.random.default_rng(0)
    found = look_at(NET, points, points.label)
    for measure in (
        lambda: look_at(two, points, points.label),
        lambda: noise_growth(two, found),
        lambda: lipschitz(CONFIG, two, points),
        lambda: coupled(CONFIG, two, points, draws),
    ):
        with pytest.raises(ValueError, match="after the lottery are written for one class"):
            measure()


def test_only_the_trained_net_is_asked_to_be_flat():
    check = CHECKS["purification.lemC.22"]
    assert [one.status for one in check.observed(check.satisfied[0])] == ["met", "not checkable"]
    run = check.satisfied[0]
    steep = replace(run, result=replace(run.result, lipschitz=[5.0] * 3))
    assert check.observed(steep)[0].status == "unmet"


def test_short_neurons_solve_their_equation():
    log_d = short_neurons_from(0.35, 0.5) * math.log(10)
    assert 0.35 * math.sqrt(3 * log_d) == pytest.approx(math.exp(log_d / 100))
    assert short_neurons_from(1e-3, 1.0) == 0.0
