"""Oracles of the dictionary against brute force, and the floor under every classifier."""

import math

import pytest
import torch

from karat.attacks import PGD, FixedDirection, Steepest
from karat.attacks.cascade import surviving
from karat.core.ball import Ball
from karat.data import SparseCoding, unitary
from karat.nets import as_classifier
from karat.probes.oracle import HardThreshold, soft_threshold
from karat.probes.small_ball import boundary_mass, robust_error_floor


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.slow
def test_hard_threshold_in_l_inf_is_exact_against_a_grid():
    g = generator()
    w_star = torch.tensor([1.0, -0.7])
    oracle = HardThreshold(torch.eye(2), w_star, 0.5)
    x = 1.5 * torch.rand(40, 2, generator=g, dtype=torch.float64) - 0.75
    y = torch.where(torch.rand(40, generator=g) < 0.5, -1.0, 1.0).double()
    line = torch.linspace(-0.3, 0.3, 241, dtype=torch.float64)
    moves = torch.cartesian_prod(line, line)
    brute = torch.stack(
        [oracle.margin(p + moves, s.expand(len(moves))).min() for p, s in zip(x, y, strict=True)]
    )
    below, above = oracle.worst_margin(x, y, Ball(math.inf, 0.3))
    assert torch.equal(below, above)
    assert bool((below <= brute + 1e-12).all())
    assert float((brute - below).max()) < 0.01  # the grid misses the jumps by half a cell


@pytest.mark.slow
def test_hard_threshold_in_l2_is_bracketed():
    """A dense grid of the disc lies above the lower bound, and the upper bound is reached up to the grid."""
    g = generator(1)
    M = unitary(2, generator=g)
    oracle = HardThreshold(M, torch.tensor([1.0, 0.8], dtype=torch.float64), 0.5)
    x = 2 * torch.rand(60, 2, generator=g, dtype=torch.float64) - 1
    y = torch.where(torch.rand(60, generator=g) < 0.5, -1.0, 1.0).double()
    r = 0.25 * torch.linspace(0, 1, 60, dtype=torch.float64)
    angle = torch.linspace(0, 2 * math.pi, 241, dtype=torch.float64)
    moves = torch.stack([torch.outer(r, angle.cos()).flatten(), torch.outer(r, angle.sin()).flatten()], dim=1)
    brute = torch.stack(
        [oracle.margin(p + moves, s.expand(len(moves))).min() for p, s in zip(x, y, strict=True)]
    )
    below, above = oracle.worst_margin(x, y, Ball(2, 0.25))
    assert bool((below <= above + 1e-12).all())
    assert bool((below <= brute + 1e-9).all())
    assert bool((brute <= above + 0.03).all())


def test_zero_radius_gives_the_margin():
    oracle = HardThreshold(torch.eye(3), torch.ones(3), 0.4)
    x, y = torch.rand(20, 3, generator=generator()), torch.ones(20)
    for p in (2.0, math.inf):
        below, above = oracle.worst_margin(x, y, Ball(p, 0.0))
        assert torch.allclose(below, oracle.margin(x, y).double())
        assert torch.allclose(above, below)


def test_features_off_the_axes_are_refused_in_l_inf():
    oracle = HardThreshold(unitary(3, generator=generator()), torch.ones(3), 0.4)
    with pytest.raises(ValueError, match="features along the axes"):
        oracle.worst_margin(torch.zeros(1, 3), torch.ones(1), Ball(math.inf, 0.1))


@pytest.mark.slow
def test_universal_signs_are_the_worst_l_inf_attack_on_pure_features():
    model = SparseCoding.draw(d=16, k=4, generator=generator(2), dictionary="identity", sigma_x=0.1)
    test = model.sample(80, generator=generator(3))
    net = soft_threshold(model.M, model.w_star, 1.0, 0.2, 0.02)
    ball = Ball(math.inf, 0.1)
    classifier = as_classifier(net)
    fixed = FixedDirection(model.dense_direction, steepest=True)
    pgd = PGD(steps=30, start=fixed, restarts=2)(classifier, test.x, test.y, ball, generator=generator())
    worst = classifier.margin(test.x + fixed(classifier, test.x, test.y, ball), test.y)
    assert bool((worst <= classifier.margin(test.x + pgd, test.y) + 1e-12).all())


def test_no_oracle_beats_the_floor():
    model = SparseCoding.draw(d=60, k=20, generator=generator(4), dictionary="identity", small_spread=3.0)
    test = model.sample(4000, generator=generator(5))
    assert test.z is not None
    for p, tau in ((2.0, 0.15), (math.inf, 0.08)):
        floor = robust_error_floor(model, test.z, p, tau)
        hard = HardThreshold(model.M, model.w_star, 0.5 / math.sqrt(20))
        error = 1 - float((hard.worst_margin(test.x, test.y, Ball(p, tau))[1] > 0).double().mean())
        assert 0.005 < floor <= error


def test_floor_vanishes_without_a_radius_and_grows_with_it():
    model = SparseCoding.draw(d=60, k=20, generator=generator(4), small_spread=2.0)
    z = model.sample(3000, generator=generator(6)).z
    assert z is not None
    floors = [robust_error_floor(model, z, 2, tau) for tau in (0.0, 0.05, 0.1, 0.3)]
    assert floors == sorted(floors)
    assert floors[-1] > floors[0]
    mass = boundary_mass(model, z, torch.tensor([0.1, 0.5]))
    assert float(mass[0]) < float(mass[1])


@pytest.mark.slow
def test_cascade_is_the_worst_of_all_attacks():
    model = SparseCoding.draw(d=16, k=4, generator=generator(2), sigma_x=0.1)
    test = model.sample(200, generator=generator(3))
    classifier, ball = as_classifier(soft_threshold(model.M, model.w_star, 1.0, 0.2, 0.05)), Ball(2, 0.2)
    methods = (FixedDirection(model.dense_direction), Steepest(), PGD(steps=5))
    alive = surviving(classifier, test.x, test.y, ball, methods)
    expected = classifier.margin(test.x, test.y) > 0
    for method in methods:
        delta = method(classifier, test.x, test.y, ball)
        expected &= classifier.margin(test.x + delta, test.y) > 0
    assert torch.equal(alive, expected)
    assert torch.equal(surviving(classifier, test.x, test.y, ball, ()), classifier.margin(test.x, test.y) > 0)
