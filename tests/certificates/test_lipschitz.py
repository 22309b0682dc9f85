"""Lipschitz certificates against brute force over sign patterns."""

import itertools
import math
from dataclasses import replace

import torch

from karat.certificates.interval_norm import interval_norm
from karat.certificates.lipschitz import global_constant, lipschitz_bound, product_constant, secant_bound
from karat.core import Ball, dual_exponent


def test_slope_norm_is_above_every_pattern_and_near_the_largest(p, generator):
    for m, d in ((1, 1), (5, 3), (9, 6), (9, 20)):
        W = torch.randn(m, d, generator=generator, dtype=torch.float64)
        ends = torch.randn(2, m, generator=generator, dtype=torch.float64)
        low, high = ends.amin(0), ends.amax(0)
        pick = torch.tensor(list(itertools.product((0.0, 1.0), repeat=m)), dtype=torch.float64)
        sums = (low + pick * (high - low)) @ W
        exact = float(torch.linalg.vector_norm(sums, ord=dual_exponent(p), dim=1).max())
        bound = interval_norm(W, low, high, p)
        assert exact <= bound
        assert bound <= (1 + 1e-9 if p == 1 else 1.2) * exact


def test_the_sdp_constant_is_below_the_product_and_above_the_local_one(make_problem, p):
    problem = make_problem("relu", p, n=10, m=20, d=8)
    constant = global_constant(problem)
    assert bool((constant <= product_constant(problem)).all())
    assert bool((secant_bound(problem) >= lipschitz_bound(problem, constant) - 1e-9).all())


def test_no_point_beats_a_lipschitz_or_secant_bound(make_problem, profile, p, soundness):
    problem = make_problem(profile, p, n=25)
    lowest, error = soundness.grid_minimum(problem, 31)
    assert bool((lipschitz_bound(problem, global_constant(problem)) <= lowest + error).all())
    assert bool((secant_bound(problem) <= lowest + error).all())


def test_activations_of_unbounded_slope_have_no_global_constant_but_a_local_bound(make_problem):
    problem = make_problem("quadratic", 2.0, tau=0.1)
    assert bool(torch.isinf(global_constant(problem)).all())
    assert bool(torch.isfinite(secant_bound(problem)).all())


def test_a_dead_net_has_constant_zero(make_problem, p):
    problem = make_problem("relu", p)
    dead = replace(problem, c=torch.zeros_like(problem.c))
    assert float(global_constant(dead).max()) == 0.0
    assert torch.equal(secant_bound(dead) > dead.offset - 1e-9, torch.ones(len(dead), dtype=torch.bool))
    silent = replace(problem, W=torch.zeros_like(problem.W))
    assert bool(torch.isfinite(secant_bound(silent)).all())


def test_zero_radius_gives_the_margin(make_problem, profile):
    problem = replace(make_problem(profile, 2.0), ball=Ball(2, 0.0))
    value = problem.value(torch.zeros_like(problem.x))
    assert torch.allclose(secant_bound(problem), value, atol=1e-9)
    assert torch.allclose(lipschitz_bound(problem, global_constant(problem)), value, atol=1e-9)


def test_slope_norm_of_infinite_ranges_is_infinite():
    one = torch.ones(1, dtype=torch.float64)
    assert interval_norm(torch.ones(1, 2, dtype=torch.float64), -math.inf * one, one, 2.0) == math.inf
