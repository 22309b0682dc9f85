"""Branch and bound against enumeration, mixed-integer programs and grids."""

import itertools
import math
from dataclasses import replace

import clarabel
import numpy as np
import pytest
import torch
from scipy import sparse

from karat.certificates.branch_and_bound import branch_and_bound
from karat.certificates.space import space_of
from karat.certificates.tightening import cap, tightening_of
from karat.core import Ball


def one(problem, i):
    return problem.rows(torch.tensor([i]))


@pytest.mark.parametrize(("m", "d"), [(6, 3), (12, 6), (20, 10)])
def test_l_inf_values_agree_with_the_mixed_integer_program(make_problem, soundness, m, d):
    problem = make_problem("relu", math.inf, n=5, m=m, d=d, tau=0.8)
    for i in range(5):
        found = branch_and_bound(one(problem, i), seconds=20, precise=1e-6)
        below, above = soundness.milp_minimum(one(problem, i))
        assert found.lower <= above + 1e-5
        assert found.upper >= below - 1e-5
        assert found.upper - found.lower <= 2e-6 * (1 + abs(found.upper))


def socp_minimum(problem):
    """Worst margin of one l2 ReLU problem: a second-order cone program for every activation pattern."""
    c, z, W = problem.c[0].numpy(), problem.z[0].numpy(), problem.W.numpy()
    m, d = W.shape
    best = math.inf
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for pattern in itertools.product((0.0, 1.0), repeat=m):
        on = np.array(pattern)
        sign = np.where(on > 0, -1.0, 1.0)
        A = np.vstack([sign[:, None] * W, np.zeros((1, d)), -np.eye(d)])
        side = np.concatenate([-sign * z, [float(problem.tau[0])], np.zeros(d)])
        cones = [clarabel.NonnegativeConeT(m), clarabel.SecondOrderConeT(d + 1)]
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix((d, d)), (c * on) @ W, sparse.csc_matrix(A), side, cones, settings
        )
        found = solver.solve()
        if str(found.status) in ("Solved", "AlmostSolved"):
            best = min(best, found.obj_val + float((c * on) @ z))
    return best + float(problem.offset[0])


def test_l2_values_agree_with_all_activation_patterns(make_problem):
    problem = make_problem("relu", 2.0, n=8, m=5, d=3, tau=2.0)
    for i in range(8):
        found = branch_and_bound(one(problem, i), seconds=10, precise=1e-6)
        exact = socp_minimum(one(problem, i))
        assert found.lower == pytest.approx(exact, abs=5e-6 * (1 + abs(exact)))
        assert found.upper == pytest.approx(exact, abs=5e-6 * (1 + abs(exact)))


def test_values_agree_with_a_grid(make_problem, profile, p, soundness):
    problem = make_problem(profile, p, n=4, m=5, d=2, tau=1.0)
    lowest, error = soundness.grid_minimum(problem, 101)
    for i in range(4):
        found = branch_and_bound(one(problem, i), seconds=60, precise=0.02)
        assert found.lower <= float(lowest[i] + error[i])
        assert found.lower <= found.upper
        assert float(lowest[i]) - found.lower < 0.021
        assert float(problem.ball.with_tau(problem.tau[i]).excess(found.delta.unsqueeze(0))) < 1e-12
        again = float(one(problem, i).value(found.delta.unsqueeze(0))[0])
        assert found.upper == pytest.approx(again, abs=1e-12)


def test_a_box_keeps_the_witness_and_the_bound_honest(make_problem, p, soundness):
    problem = make_problem("relu", p, n=6, m=6, d=2, box=(-0.4, 0.6))
    lowest, error = soundness.grid_minimum(problem, 101)
    for i in range(6):
        found = branch_and_bound(one(problem, i), seconds=5, precise=1e-4)
        x = problem.x[i] + found.delta
        assert float(x.min()) >= -0.4 - 1e-12
        assert float(x.max()) <= 0.6 + 1e-12
        assert found.lower <= float(lowest[i] + error[i])
        assert float(lowest[i]) - found.lower < 0.1


def test_more_time_never_lowers_the_lower_bound(make_problem):
    problem = one(make_problem("relu", 2.0, n=1, m=60, d=30, tau=2.0), 0)
    first = branch_and_bound(problem, seconds=0.0, precise=1e-6)
    later = branch_and_bound(problem, seconds=0.4, precise=1e-6)
    assert first.lower <= later.lower <= later.upper <= first.upper + 1e-12


def test_a_limit_of_domains_stops_the_search_at_the_same_place_every_time(make_problem):
    problem = one(make_problem("relu", 2.0, n=1, m=60, d=30, tau=2.0), 0)
    few, again, more = (branch_and_bound(problem, domains=count, precise=1e-9) for count in (40, 40, 400))
    assert (few.lower, few.upper, few.domains) == (again.lower, again.upper, again.domains)
    assert 40 <= few.domains < 40 + 256
    assert 400 <= more.domains < 400 + 512
    assert few.lower < more.lower <= more.upper <= few.upper


def test_a_minimum_inside_the_ball_is_found(generator):
    # A net whose minimum is interior: the linear part vanishes there and first-order duals stall.
    from karat.certificates.problem import Problem
    from karat.certificates.profile import profile_of
    from karat.core import Relu

    W = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], dtype=torch.float64)
    b = torch.tensor([-0.2, 0.2, 0.1, -0.1], dtype=torch.float64)
    ones = torch.ones(1, 4, dtype=torch.float64)
    zero = torch.zeros(1, dtype=torch.float64)
    problem = Problem(
        W, b, ones, zero - 0.5, torch.zeros(1, 2, dtype=torch.float64), Ball(2, 1.0), profile_of(Relu())
    )
    found = branch_and_bound(problem, seconds=5, precise=1e-7)
    assert found.lower == pytest.approx(-0.5, abs=1e-6)
    assert found.upper == pytest.approx(-0.5, abs=1e-6)


@pytest.mark.parametrize("m", [1, 3])
def test_small_and_dead_nets(make_problem, p, m):
    problem = make_problem("relu", p, n=2, m=m, d=1, tau=5.0)
    for dead in (problem, replace(problem, W=0 * problem.W), replace(problem, c=0 * problem.c)):
        found = branch_and_bound(one(dead, 0), seconds=2, precise=1e-6)
        assert found.upper - found.lower < 1e-5


def test_caps_hold_every_point_of_a_cut_ball(generator):
    v = torch.randn(20_000, 3, generator=generator, dtype=torch.float64)
    delta = 1.5 * v / torch.linalg.vector_norm(v, dim=1, keepdim=True)
    delta = delta * torch.rand(len(v), 1, generator=generator, dtype=torch.float64) ** (1 / 3)
    for _ in range(20):
        pair = torch.randn(2, 3, generator=generator, dtype=torch.float64)
        n, w = pair / torch.linalg.vector_norm(pair, dim=1, keepdim=True)
        distance = 1.4 * torch.rand(1, generator=generator, dtype=torch.float64)
        inside = delta[delta @ n >= distance]
        largest = cap(distance, (n @ w).reshape(1), 1.5)
        if len(inside):
            assert float((inside @ w).max()) <= float(largest)


def test_a_half_space_bounds_the_other_neurons_in_every_norm(make_problem, p, generator):
    problem = one(make_problem("relu", p, n=1, m=6, d=3, tau=1.0), 0)
    problem = replace(problem, ball=Ball(p, torch.ones(1, dtype=torch.float64)))
    space = space_of(replace(problem, b=0 * problem.b, x=0 * problem.x))
    tightening = tightening_of(space)
    delta = Ball(p, 1.0).sample(torch.zeros(60_000, 3, dtype=torch.float64), generator=generator)
    reach = delta @ space.W.T
    plain = reach.abs().amax(dim=0)
    for i in range(len(space.W)):
        for side in (1.0, -1.0):
            distance = 0.6 * float(reach[:, i].abs().max())
            inside = reach[side * reach[:, i] >= distance]
            up, down = tightening.reach(
                torch.tensor([i]), torch.tensor([side]).double(), torch.tensor([distance]).double()
            )
            assert bool((inside.amax(dim=0) <= up[0] + 1e-12).all())
            assert bool(((-inside).amax(dim=0) <= down[0] + 1e-12).all())
            # It is of use: in the half-space the neuron itself moves one way only.
            assert bool((torch.minimum(up[0], down[0]) < 0.9 * plain).any())
