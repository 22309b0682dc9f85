"""Robust coupling and the growth of neurons: every closed form against the net in d dimensions."""

import math

import numpy as np
import pytest
import torch

from karat.data.sparse_code import SparseCode
from karat.papers.purification import bounds_robust_coupling as bounds
from karat.papers.purification.experiments.robust_coupling import NEAR, NEAR_INF, run, sizes
from karat.papers.purification.experiments.robust_coupling_measures import (
    couplings,
    frozen_error,
    movement,
    moves,
    pure_error,
)
from karat.reductions.symmetric import SymmetricNet, draw_points

D, B, SIGMA = 60, 0.2, 0.05
CLEAN = SymmetricNet(d=D, alpha=1.1, beta=0.02, gamma=0.01, threshold=B, sigma_rho=SIGMA, hubs=3)
LATER = CLEAN.replace(alpha=1.0, beta=0.01, gamma=0.005)
DRAWS = 20_000


def some_points(n=3):
    code = SparseCode(k=9, D=D, large_rate=0.5, small_rate=1.0)
    return draw_points(code, n, generator=np.random.default_rng(0))


def lifted(net):
    W = net.lift(torch.eye(D, dtype=torch.float64), torch.ones(D, dtype=torch.float64)).W
    return W.numpy()


def noise(rows):
    return SIGMA * np.random.default_rng(1).standard_normal((DRAWS, rows))


@pytest.mark.parametrize("p", [2, math.inf])
def test_frozen_gates_cost_what_drawn_noise_says(p):
    points, W = some_points(), lifted(LATER)
    rho, places = noise(len(W)), points.positions(np.random.default_rng(2))
    x = points.dense(places)
    worst = np.zeros(len(points))
    for values, rest in moves(LATER, points, p, 0.1):
        moved = points.moved(values, rest).dense(places)
        for i in range(len(points)):
            total = 0.0
            for sign in (1, -1):
                before, after = sign * W @ x[i] + rho - B, sign * W @ moved[i] + rho - B
                total += np.abs(after * ((before >= 0) * 1.0 - (after >= 0))).sum(axis=1).mean()
            worst[i] = max(worst[i], total)
    assert frozen_error(LATER, points, p, 0.1) == pytest.approx(worst, rel=0.1, abs=1e-4)


@pytest.mark.parametrize("p", [2, math.inf])
def test_no_perturbation_exceeds_the_error_of_pure_parts_and_one_reaches_it(p):
    points = some_points()
    W, V, G = lifted(LATER), lifted(CLEAN), CLEAN.alpha * np.eye(D + 3, D)
    G[D:] = 0
    x, rho = points.dense(points.positions(np.random.default_rng(2))), noise(D + 3)[:2000]
    for i in range(len(points)):
        gap, slope = np.zeros(len(rho)), np.zeros((len(rho), D))
        for sign in (1, -1):
            on = sign * W @ x[i] + rho >= B
            gap += sign * (on * (sign * G @ x[i] + rho - B)).sum(axis=1)
            gap -= sign * np.maximum(sign * V @ x[i] + rho - B, 0).sum(axis=1)
            slope += on @ G
        exact = np.abs(gap) + 0.1 * np.linalg.norm(slope, ord=2 if p == 2 else 1, axis=1)
        alone = points.select(np.arange(len(points)) == i)
        draws = [
            pure_error(CLEAN, LATER, alone, p, 0.1, np.random.default_rng(seed))[0] for seed in range(500)
        ]
        assert np.mean(draws) == pytest.approx(exact.mean(), rel=0.05)


@pytest.mark.parametrize("p", [2, math.inf])
def test_a_neuron_moves_inside_the_bracket(p):
    points, tau = some_points(4000), 0.05
    net = LATER.replace(hubs=0)
    reached, certified = movement(net, points, p, tau)
    w = lifted(net)[0]
    x = points.dense(points.positions(np.random.default_rng(2)))
    delta = tau * (w / np.linalg.norm(w) if p == 2 else np.sign(w))
    rho = SIGMA * np.random.default_rng(3).standard_normal(len(x))
    found = []
    for move, factor in ((delta, np.ones(len(x))), (0 * delta, np.sign(x[:, 0])), (delta, np.sign(x[:, 0]))):
        on = (x + move) @ w + rho >= B
        mean = (factor[:, None] * on[:, None] * (x + move)).mean(axis=0)
        found.append(np.linalg.norm(mean, ord=2 if p == 2 else 1))
    assert 0.9 * reached <= max(found) <= 1.1 * certified


def test_without_perturbation_and_mixture_nothing_is_lost():
    pure = SymmetricNet(d=D, threshold=B, sigma_rho=SIGMA)
    found = couplings(pure, pure, some_points(), 2, 0.0, np.random.default_rng(0))
    assert (found.frozen, found.r, found.longest) == (0.0, 0.0, 0.0)
    assert found.pure == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("config", [NEAR, NEAR_INF])
def test_bounds_grow_with_radius_and_dense_part(config):
    few = {"d": 10**6, "clean_steps": 5, "robust_time": 0.0, "n_test": 5}
    small = type(config)(**(vars(config) | few))
    result = run(small, torch.Generator().manual_seed(0))
    one = sizes(small, result.sigma_rho, result.clean)
    two = type(one)(**(vars(one) | {"tau": 2 * one.tau}))
    dense = type(one)(**(vars(one) | {"r": 2 * one.r, "longest": 2 * one.longest}))
    assert bounds.frozen_gates(two) == pytest.approx(4 * bounds.frozen_gates(one))
    assert bounds.frozen_gates_later(two) == pytest.approx(4 * bounds.frozen_gates_later(one))
    for formula in (bounds.pure_part, bounds.neuron_movement, bounds.frozen_gates):
        assert formula(one) < formula(two)
        assert formula(one) < formula(dense)
    assert bounds.pure_part_later(one) < bounds.pure_part_later(two)
