"""The dual bound: exact where it must be, invariant where it must be, equal to independent routes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from karat.certificates.ascent import optimised_lines
from karat.certificates.problem import Problem
from karat.certificates.profile import profile_of
from karat.certificates.relaxation import dual_bound, linear_relaxation
from karat.certificates.support import support
from karat.core import Ball, Relu, dual_exponent
from karat.core.norms import norm


def crown(problem):
    """CROWN by its own formulas: chord above, min-area line below, for y f = sum c relu(z)."""
    low, high = problem.interval
    crossing = (low < 0) & (high > 0)
    chord = torch.where(crossing, high / torch.where(crossing, high - low, 1.0), (low >= 0).double())
    offset = torch.where(crossing, -chord * low, 0.0)
    through = torch.where(crossing, (high > -low).double(), chord)
    convex = problem.c > 0
    slope = problem.c * torch.where(convex, through, chord)
    constant = torch.where(convex, 0.0, problem.c * offset).sum(dim=1)
    fall = problem.tau * norm(slope @ problem.W, dual_exponent(problem.ball.p))
    return problem.offset + (slope * problem.z).sum(dim=1) + constant - fall


def test_relaxation_is_crown_for_the_relu(make_problem, p):
    problem = make_problem("relu", p, n=60, m=30, d=10)
    assert torch.allclose(linear_relaxation(problem), crown(problem), rtol=0, atol=1e-10)


def test_no_slopes_whatever_give_more_than_the_grid(make_problem, profile, p, generator, soundness):
    problem = make_problem(profile, p, n=30)
    lowest, error = soundness.grid_minimum(problem, 31)
    for scale in (0.1, 1.0, 10.0):
        alpha = scale * torch.randn(problem.c.shape, generator=generator, dtype=torch.float64)
        assert bool((dual_bound(problem, alpha) <= lowest + error).all())


def test_ascent_is_never_below_its_start_nor_above_the_grid(make_problem, profile, p, soundness):
    problem = make_problem(profile, p, n=30)
    start, (bound, _, delta) = linear_relaxation(problem), optimised_lines(problem)
    lowest, error = soundness.grid_minimum(problem, 31)
    assert bool((bound >= start).all())
    assert bool((bound <= lowest + error).all())
    assert float(problem.ball.excess(delta).max()) < 1e-9


def test_ascent_reaches_the_value_of_the_linear_program(make_problem):
    problem = make_problem("relu", math.inf, n=6, m=12, d=5)
    bound, _, _ = optimised_lines(problem, steps=400)
    low, high = (side.numpy() for side in problem.interval)
    for i in range(6):
        c, z, W = problem.c[i].numpy(), problem.z[i].numpy(), problem.W.numpy()
        tau, m, d = float(problem.tau[i]), 12, 5
        # Variables delta (d), t (m): minimise <c, t>, t between relu and its chord.
        A, b = [], []
        for s in range(m):
            unit = np.eye(m)[s]
            if high[i, s] <= 0 or low[i, s] >= 0:
                active = float(low[i, s] >= 0)
                for sign in (1, -1):
                    A.append(np.concatenate([-sign * active * W[s], sign * unit]))
                    b.append(sign * active * z[s])
                continue
            slope = high[i, s] / (high[i, s] - low[i, s])
            A += [np.concatenate([0 * W[s], -unit]), np.concatenate([W[s], -unit])]
            b += [0.0, -z[s]]
            A.append(np.concatenate([-slope * W[s], unit]))
            b.append(slope * (z[s] - low[i, s]))
        cost = np.concatenate([np.zeros(d), c])
        limits = [(-tau, tau)] * d + [(None, None)] * m
        found = linprog(cost, A_ub=np.array(A), b_ub=np.array(b), bounds=limits)
        value = found.fun + float(problem.offset[i])
        assert float(bound[i]) <= value + 1e-6
        assert float(bound[i]) >= value - 2e-2 * (1 + abs(value))


def test_zero_radius_gives_the_margin(make_problem, profile, p):
    problem = make_problem(profile, p, tau=0.0)
    value = problem.value(torch.zeros_like(problem.x))
    assert torch.allclose(linear_relaxation(problem), value, rtol=0, atol=1e-9)


@pytest.mark.parametrize("box", [None, (-0.5, 0.8)])
def test_a_linear_net_is_exact(make_problem, p, box):
    problem = make_problem("identity", p, n=40, m=3, d=6, box=box)
    w = problem.c @ problem.W
    worst = problem.value(problem.ball.extreme_point(-w, problem.x))
    bound = linear_relaxation(problem)
    assert torch.allclose(bound, worst, rtol=0, atol=1e-11)
    assert bool((bound <= worst + problem.value_error(torch.zeros_like(problem.x))).all())


def test_stable_neurons_make_the_bound_exact(make_problem, p):
    problem = make_problem("relu", p, n=20, m=8, d=4, tau=1e-6)
    gradient = (problem.c * problem.profile.derivative(problem.z)) @ problem.W
    worst = problem.value(problem.ball.extreme_point(-gradient, problem.x))
    assert torch.allclose(linear_relaxation(problem), worst, rtol=0, atol=1e-11)


def test_the_bound_falls_with_the_radius(make_problem, profile, p):
    problem = make_problem(profile, p, n=10)
    previous = torch.full((10,), torch.inf, dtype=torch.float64)
    for tau in (0.0, 0.1, 0.3, 1.0):
        bound = linear_relaxation(replace(problem, ball=Ball(p, tau)))
        assert bool((bound <= previous + 1e-9).all())
        previous = bound


def test_permuting_neurons_changes_nothing(make_problem, profile, p, generator):
    problem = make_problem(profile, p)
    order = torch.randperm(len(problem.b), generator=generator)
    other = replace(problem, W=problem.W[order], b=problem.b[order], c=problem.c[:, order])
    assert torch.allclose(linear_relaxation(problem), linear_relaxation(other), rtol=0, atol=1e-10)
    # For p = 1 and inf the dual is not smooth and momentum amplifies rounding: the ascents part ways.
    slack = 1e-6 if p == 2 else 0.05
    ours, theirs = optimised_lines(problem)[0], optimised_lines(other)[0]
    assert torch.allclose(ours, theirs, rtol=slack, atol=slack)


def test_rescaling_neurons_changes_nothing(make_problem, p, generator):
    problem = make_problem("leaky", p)
    s = 10 ** torch.randn(len(problem.b), generator=generator, dtype=torch.float64)
    other = replace(problem, W=problem.W * s[:, None], b=problem.b * s, c=problem.c / s)
    assert torch.allclose(linear_relaxation(problem), linear_relaxation(other), rtol=0, atol=1e-8)
    slack = 1e-6 if p == 2 else 0.05
    ours, theirs = optimised_lines(problem)[0], optimised_lines(other)[0]
    assert torch.allclose(ours, theirs, rtol=slack, atol=slack)


def test_rotating_the_input_changes_nothing_in_l2(make_problem, profile, generator):
    problem = make_problem(profile, 2.0, d=4)
    Q = torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64)).Q
    other = replace(problem, W=problem.W @ Q, x=problem.x @ Q)
    assert torch.allclose(linear_relaxation(problem), linear_relaxation(other), rtol=0, atol=1e-9)


def test_scaling_input_and_radius_scales_nothing(make_problem, profile, p):
    problem = make_problem(profile, p)
    other = replace(problem, W=problem.W / 3, x=problem.x * 3, ball=problem.ball.with_tau(problem.tau * 3))
    assert torch.allclose(linear_relaxation(problem), linear_relaxation(other), rtol=0, atol=1e-9)


def test_an_odd_pair_together_is_at_least_as_tight_as_its_halves(make_problem, p):
    pair = make_problem("odd", p, n=50, m=8, d=3)
    b = torch.full((8,), -0.4, dtype=torch.float64)
    halves = Problem(
        torch.cat([pair.W, -pair.W]),
        torch.cat([pair.b + b, -pair.b + b]),
        torch.cat([pair.c, -pair.c], dim=1),
        pair.offset,
        pair.x,
        pair.ball,
        profile_of(Relu()),
    )
    assert torch.allclose(pair.value(0 * pair.x), halves.value(0 * pair.x), atol=1e-12)
    whole, parts = optimised_lines(pair, steps=300)[0], optimised_lines(halves, steps=300)[0]
    assert float((parts - whole).max()) < 0.02


def test_support_is_the_best_linear_value(p, generator):
    for box in (None, (-0.5, 0.7)):
        g = torch.randn(50, 5, generator=generator, dtype=torch.float64)
        x = torch.randn(50, 5, generator=generator, dtype=torch.float64).clamp(-0.5, 0.7)
        ball = Ball(p, torch.rand(50, generator=generator, dtype=torch.float64) * 2, box)
        attained = (g * ball.extreme_point(g, x)).sum(dim=1)
        assert torch.allclose(support(g, ball, x), attained, rtol=1e-9, atol=1e-12)
        assert bool((support(g, ball, x) >= attained * (1 - 1e-12) - 1e-14).all())
