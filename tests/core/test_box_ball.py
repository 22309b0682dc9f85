"""Projection and linear maximisation over ball and box against a conic solver and brute force in 2-d."""

import math

import clarabel
import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from karat.core import Ball
from karat.core.box_ball import scale_to_budget, threshold_to_budget

NORMS = [1.0, 2.0, math.inf]
BOXES = [None, (0.0, 1.0)]


def solve(
    quadratic: float, linear: np.ndarray, p: float, tau: float, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """argmin of quadratic |v|^2 / 2 + <linear, v> over |v|_p <= tau, low <= v <= high, by interior points.

    The variables are (v, t) with |v| <= t, so that the l1 ball is sum(t) <= tau.
    """
    d = len(linear)
    eye, none = np.eye(d), np.zeros((d, d))
    blocks = [(np.hstack([eye, none]), high), (np.hstack([-eye, none]), -low)]
    blocks += [(np.hstack([eye, -eye]), np.zeros(d)), (np.hstack([-eye, -eye]), np.zeros(d))]
    blocks.append((np.hstack([none, eye]), np.full(d, tau if p != 1 else 1e3)))
    if p == 1:
        blocks.append((np.hstack([np.zeros((1, d)), np.ones((1, d))]), np.array([tau])))
    cones = [clarabel.NonnegativeConeT(sum(len(side) for _, side in blocks))]
    if p == 2:
        blocks.append((np.vstack([np.zeros(2 * d), np.hstack([-eye, none])]), np.append(tau, np.zeros(d))))
        cones.append(clarabel.SecondOrderConeT(d + 1))
    A, b = np.vstack([rows for rows, _ in blocks]), np.concatenate([side for _, side in blocks])
    cost = sparse.csc_matrix(np.diag(np.append(np.full(d, quadratic), np.zeros(d))))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        cost, np.append(linear, np.zeros(d)), sparse.csc_matrix(A), b, cones, settings
    )
    return np.array(solver.solve().x)[:d]


def sides(x: Tensor, box: tuple[float, float] | None) -> tuple[np.ndarray, np.ndarray]:
    low, high = (-100.0, 100.0) if box is None else box
    return low - x.numpy(), high - x.numpy()


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("tau", [0.05, 0.6, 2.5])
def test_projection_agrees_with_an_interior_point_solver(p, box, tau, generator):
    x = torch.rand(12, 6, generator=generator, dtype=torch.float64)
    delta = torch.logspace(-1, 1, 12, dtype=torch.float64).unsqueeze(1)
    delta = delta * torch.randn(12, 6, generator=generator, dtype=torch.float64)
    points = Ball(p, tau, box).project(delta, x).numpy()
    for point, target, inside in zip(points, delta.numpy(), x, strict=True):
        rival = solve(1.0, -target, p, tau, *sides(inside, box))
        # The solver stops at a relative gap of 1e-12, and |v - v_best|^2 / 2 is at most the gap.
        gap = 1e-12 * (1 + target @ target)
        np.testing.assert_allclose(point, rival, rtol=0, atol=2 * math.sqrt(2 * gap))


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("tau", [0.05, 0.6, 2.5])
def test_the_extreme_value_agrees_with_an_interior_point_solver(p, box, tau, generator):
    x = torch.rand(12, 6, generator=generator, dtype=torch.float64)
    g = torch.randn(12, 6, generator=generator, dtype=torch.float64)
    values = (g * Ball(p, tau, box).extreme_point(g, x)).sum(1).tolist()
    for value, slope, inside in zip(values, g.numpy(), x, strict=True):
        best = slope @ solve(0.0, -slope, p, tau, *sides(inside, box))
        assert value == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("tau", [0.3, 0.9])
def test_both_problems_agree_with_a_dense_grid_in_the_plane(p, tau, generator):
    x = torch.tensor([[0.1, 0.8]], dtype=torch.float64)
    steps = torch.linspace(-1, 1, 401, dtype=torch.float64)
    grid = torch.cartesian_prod(steps, steps)
    ball = Ball(p, tau, (0, 1))
    grid = grid[ball.excess(grid, x.expand_as(grid)) <= 0]
    for _ in range(10):
        delta = torch.randn(1, 2, generator=generator, dtype=torch.float64)
        nearest = torch.cdist(delta, grid).min()
        distance = torch.linalg.vector_norm(delta - ball.project(delta, x))
        # No grid point beats ours, and the best one is within a cell's diagonal of it.
        assert distance - 1e-12 <= nearest <= distance + 0.0071
        best = (grid @ delta.T).max()
        value = (delta * ball.extreme_point(delta, x)).sum()
        assert value + 1e-12 >= best >= value - 0.0071 * torch.linalg.vector_norm(delta)


def test_an_l1_projection_with_ties_is_symmetric():
    point = Ball(1, 1.0).project(torch.tensor([[2.0, -2.0, 2.0, 2.0]], dtype=torch.float64))
    torch.testing.assert_close(point, torch.tensor([[0.25, -0.25, 0.25, 0.25]], dtype=torch.float64))


def test_an_l1_projection_drops_the_coordinates_below_the_threshold():
    point = Ball(1, 1.0).project(torch.tensor([[2.0, 1.5, 0.1, -0.2]], dtype=torch.float64))
    torch.testing.assert_close(point, torch.tensor([[0.75, 0.25, 0.0, 0.0]], dtype=torch.float64))


def test_a_coordinate_at_its_bound_passes_its_budget_on():
    size, room = (
        torch.tensor([[4.0, 3.0]], dtype=torch.float64),
        torch.tensor([[0.3, 9.0]], dtype=torch.float64),
    )
    tau = torch.tensor([0.5], dtype=torch.float64)
    scaled = torch.tensor([[0.3, 0.4]], dtype=torch.float64)
    torch.testing.assert_close(scale_to_budget(size, room, tau), scaled)
    thresholded = torch.tensor([[0.3, 0.2]], dtype=torch.float64)
    torch.testing.assert_close(threshold_to_budget(size, room, tau), thresholded)


@pytest.mark.parametrize("budget", [scale_to_budget, threshold_to_budget])
def test_without_room_nothing_moves(budget):
    size, room = torch.ones(2, 3, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    assert not budget(size, room, torch.tensor([1.0, 0.0], dtype=torch.float64)).any()


def test_scaling_ends_even_when_coordinates_reach_their_bounds_one_by_one():
    # Rooms grow so fast that every round fixes a single coordinate: the worst case of d rounds.
    d = 40
    room = torch.logspace(-12, 0, d, dtype=torch.float64).unsqueeze(0)
    size = torch.ones(1, d, dtype=torch.float64)
    for tau in (1e-9, 1e-3, 0.9):
        point = scale_to_budget(size, room, torch.tensor([tau], dtype=torch.float64))
        assert torch.linalg.vector_norm(point).item() == pytest.approx(tau, rel=1e-12)
        free = point < room
        assert torch.equal(point[free], torch.full_like(point[free], point.max().item()))


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_entries_far_larger_than_their_room_keep_the_budget(p):
    # In float32 the corners size and size - room of these entries are the same number.
    x = torch.full((1, 50), 0.5)
    delta = torch.linspace(1e10, 2e10, 50).unsqueeze(0)
    ball = Ball(p, 1.0, (0, 1))
    assert ball.excess(ball.project(delta, x), x).item() <= 1e-5
