"""Formulas of lazy against exact values, simulations and their limits."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from karat.papers.lazy import bounds


def test_sharp_length_solves_its_equation():
    for value, gradient, C0 in [(0.0, 20.0, 10.0), (0.7, 5.0, 1.0), (2.0, 9.0, 6.0)]:
        length = bounds.sharp_flip_length(value, gradient, C0)
        tangent = length / math.sqrt(1 - length**2)
        assert value + C0 / 2 * math.sqrt(1 + tangent**2) == pytest.approx(tangent * gradient)


@given(value=st.floats(0, 3), angle=st.floats(0, math.pi / 2), C0=st.floats(0, 10), gradient=st.floats(6, 60))
def test_no_turn_of_the_rows_beats_the_sharp_length(value, angle, C0, gradient):
    """Turning all rows by one angle gives value + C0/2 cos and gradient - C0/2 sin: never a longer flip."""
    f, g = value + C0 / 2 * math.cos(angle), gradient - C0 / 2 * math.sin(angle)
    assert f / math.hypot(f, g) <= bounds.sharp_flip_length(value, gradient, C0) + 1e-9


def test_sharp_length_without_movement_is_the_first_order_flip():
    assert bounds.sharp_flip_length(0.5, 4.0, 0.0) == pytest.approx(0.5 / math.hypot(0.5, 4.0))
    assert bounds.sharp_flip_length(0.0, 4.0, 0.0) == 0.0


def test_rows_that_can_cancel_the_gradient_never_flip():
    assert bounds.sharp_flip_length(0.0, 4.9, 10.0) == math.inf


def test_ceiling_changes_sign_where_the_sharp_length_passes_the_radius():
    d, tau = 784, 0.2
    threshold = tau * math.sqrt(2 * d)
    assert bounds.robust_margin_ceiling(d, tau, 1.001 * threshold) > 0
    assert bounds.robust_margin_ceiling(d, tau, 0.999 * threshold) < 0
    assert bounds.sharp_flip_length(0.0, math.sqrt(d / 2), threshold) == pytest.approx(tau, rel=1e-9)


def test_sign_flip_probability_is_the_worst_angle():
    w = torch.randn(200_000, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    tau = 0.4
    angle = math.asin(tau)
    x = torch.tensor([1.0, 0, 0, 0, 0], dtype=torch.float64)
    moved = math.cos(angle) * torch.tensor([math.cos(angle), math.sin(angle), 0, 0, 0], dtype=torch.float64)
    assert float(torch.linalg.vector_norm(moved - x)) == pytest.approx(tau)
    share = float(((w @ x > 0) != (w @ moved > 0)).double().mean())
    p = bounds.sign_flip_probability(tau)
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / 200_000)
    assert p <= bounds.sign_flip_bound(5, tau)


def test_switch_probability_against_rows_and_points_that_try_to_switch():
    """Worst row and worst nearby point by hand: v along x against the sign, delta along w."""
    d, V, spacing, n = 30, 0.2, 0.004, 200_000
    w = torch.randn(n, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    z = w[:, 0].abs()
    share = float((z <= V + spacing * torch.linalg.vector_norm(w, dim=1)).double().mean())
    p = bounds.sign_switch_probability(d, V, spacing)
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / n)
    assert p < bounds.sign_switch_bound(d, 0.0, V, spacing)


def test_bounds_of_the_prototype_table():
    """Values found independently: B.4, B.5, B.7 and B.9 at gamma = 0.1, C0 = 10."""
    radius = 10 / math.sqrt(1000)
    assert bounds.sign_change_bound(1000, radius, 0.1) == pytest.approx(350, abs=1)
    assert bounds.value_bound(1000, 10, 0.1) == pytest.approx(12.6, abs=0.1)
    assert bounds.gradient_bound(784, 1000, 10, 0.1) == pytest.approx(-16.2, abs=0.1)
    assert math.isnan(bounds.gradient_bound(25, 1000, 10, 0.1))
    assert bounds.gradient_change_uniform(784, 1000, 10) == pytest.approx(1.8e5, rel=0.05)
    assert bounds.gradient_change_fixed(784, 1000, 10, 1 / 28, 0.1) == pytest.approx(268.5, abs=0.1)
    assert bounds.subset_bound(100, 40_000, 10, 0.1) == pytest.approx(3.8, abs=0.15)


def test_the_uniform_bound_bites_at_astronomic_dimensions_only():
    assert bounds.biting_dimension(1) == bounds.biting_dimension(10) == 1e24
    d = 1e24
    assert bounds.gradient_change_uniform(d, d**2.4, 10) < math.sqrt(d) / 4


def test_width_window_is_empty_until_millions_of_dimensions():
    assert all(low > high for low, high in map(bounds.width_window, (10, 784, 10**6)))
    low, high = bounds.width_window(4 * 10**6)
    assert low < high


def test_subset_bound_vanishes_with_the_width_and_the_subset_does_not():
    values = [bounds.subset_bound(100, m, 10, 0.1) for m in (10**4, 10**6, 10**9)]
    assert values[0] > bounds.subset_limit(10) > values[1] > values[2]
    assert bounds.subset_union_bound(10**4, 10, 0.1) > 1e4
