"""Formulas of convergence: the shattering radius by brute force, widths, steps and error bounds."""

import math

import pytest
import torch

from karat.papers.convergence import bounds


@pytest.mark.parametrize("d", [2, 3, 6, 11])
def test_ball_ratio_is_the_smallest_touching_ball(d):
    """Minimise the radius of a ball on one side of the hyperplane numerically, over its centre."""
    for k in range(1, d):
        label = torch.tensor([1.0] * k + [-1.0] * (d - k), dtype=torch.float64)
        normal = label / math.sqrt(d)
        points = torch.eye(d, dtype=torch.float64)[:k]
        generator = torch.Generator().manual_seed(k)
        centroid = points.mean(dim=0)
        inplane = centroid - (normal @ centroid) * normal

        def needed(centre, points=points, normal=normal):
            """Radius of the ball around centre + r normal that touches the plane and holds the points."""
            low, high = 0.0, 100.0
            for _ in range(60):
                r = (low + high) / 2
                fits = bool(((points - centre - r * normal).norm(dim=1) <= r).all())
                low, high = (low, r) if fits else (r, high)
            return high

        best = needed(inplane)
        assert best == pytest.approx(bounds.ball_ratio(k, d), rel=1e-9)
        for _ in range(10):
            step = torch.randn(d, generator=generator, dtype=torch.float64) * 0.05
            step -= (normal @ step) * normal
            assert needed(inplane + step) >= best - 1e-9


def test_printed_offset_is_larger_than_the_one_that_works():
    for d in (2, 4, 16):
        assert bounds.cluster_offset(d, 1.0, printed=True) > bounds.cluster_offset(d, 1.0)
    assert bounds.cluster_offset(16, 2.0) == pytest.approx(2 / bounds.ball_ratio(15, 16))


def test_both_step_counts_agree_at_the_corollary_width():
    R, tol, lr = 3.0, 0.1, 0.2
    m = round(bounds.two_layer_width(R, tol))
    assert bounds.two_layer_steps(m, lr) == pytest.approx(bounds.corollary_steps(R, tol, lr), rel=1e-9)


def test_regret_gap_sums_the_recursion():
    """d^2 -> (1 + c lr/sqrt m) d^2 - 2 lr gap + lr^2 reaches 0 at step T exactly for the bound's gap."""
    R, m, lr, steps, c = 3.0, 400, 0.2, 50, 0.8
    gap = bounds.regret_gap(R, m, lr, steps, c)
    squared = R**2
    for _ in range(steps):
        squared = (1 + c * lr / math.sqrt(m)) * squared - 2 * lr * gap + lr**2
    assert squared == pytest.approx(0, abs=1e-9)


def test_regret_gap_has_its_two_limits():
    assert bounds.regret_gap(2.0, 10**12, 0.1, 100, 1.0) == pytest.approx(
        0.05 + 4 / (2 * 0.1 * 100), rel=1e-4
    )
    assert bounds.regret_gap(2.0, 100, 0.1, 10**6, 1.0) == pytest.approx(0.05 + 4 / (2 * 10))


def test_deep_width_is_out_of_reach():
    assert bounds.deep_width(4.0, 2, 0.05, 6) > 1e14
    assert bounds.deep_width(1e-3, 1, 1.0, 50) == 2500


def test_deep_steps_at_the_theorems_own_rate():
    R, depth, tol, m = 4.0, 3, 0.1, 200
    assert bounds.deep_steps(R, m, tol, tol / (m * depth**2)) == pytest.approx(R**2 * depth**2 / tol**2)


def test_error_bounds_fall_with_the_root_of_the_width():
    small, large = (bounds.built_error_bound(10.0, m, 3, 1.0, 0.01) for m in (1000, 4000))
    assert small == pytest.approx(2 * large)
    assert bounds.finite_sum_bound(10.0, 100, 3, 1.0, 0.01) == pytest.approx(
        2 * bounds.finite_sum_bound(10.0, 400, 3, 1.0, 0.01)
    )
