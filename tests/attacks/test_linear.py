"""On linear classifiers the strongest perturbation, its margin and the distance are known in closed form."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.attacks import (
    PGD,
    FixedDirection,
    GradientStep,
    Steepest,
    Strongest,
    first_crossing,
    gradient_crossing,
    minimal_radius,
    run_attack,
)
from karat.core import Ball, dual_exponent

NORMS = [1.0, 2.0, math.inf]


def setting(lab, dtype=torch.float64, n=40, d=7):
    w = torch.randn(d, generator=torch.Generator().manual_seed(3), dtype=torch.float64).to(dtype)
    x, y = lab.points(n, d, dtype=dtype)
    return lab.Linear(w, 0.3), x, y, w


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize(
    "method",
    [Steepest(), PGD(), PGD(steps=7, step_ratio=0.2), PGD(steps=30, step=0.1, keep="last")],
    ids=["steepest", "pgd", "pgd-7", "pgd-absolute"],
)
def test_margin_falls_by_radius_times_dual_norm(lab, method, p, dtype):
    linear, x, y, w = setting(lab, dtype)
    tau = torch.linspace(0.0, 1.2, len(x), dtype=dtype)
    result = run_attack(method, linear, x, y, Ball(p, tau))
    optimum = linear.margin(x, y) - tau * torch.linalg.vector_norm(w, ord=dual_exponent(p))
    tolerance = 2e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(result.margin, optimum, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("p", "gradient"), [(2.0, "normalised"), (math.inf, "sign"), (2.0, "raw")])
def test_pgd_reaches_the_optimum_with_the_gradient_of_its_norm(lab, p, gradient):
    linear, x, y, w = setting(lab)
    result = run_attack(PGD(steps=60, step_ratio=0.2, gradient=gradient), linear, x, y, Ball(p, 0.5))
    optimum = linear.margin(x, y) - 0.5 * torch.linalg.vector_norm(w, ord=dual_exponent(p))
    torch.testing.assert_close(result.margin, optimum)


@given(
    p=st.sampled_from(NORMS),
    tau=st.floats(1e-3, 1e3),
    w=st.lists(st.floats(-100, 100).filter(lambda v: abs(v) > 1e-3), min_size=2, max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_steepest_attains_the_dual_norm(p, tau, w):
    weights = torch.tensor(w, dtype=torch.float64)

    class Plane:
        def margin(self, x, y):
            return y * (x @ weights)

        def margin_and_gradient(self, x, y):
            return self.margin(x, y), y.unsqueeze(1) * weights

    x, y = torch.zeros(2, len(w), dtype=torch.float64), torch.tensor([1.0, -1.0], dtype=torch.float64)
    result = run_attack(Steepest(), Plane(), x, y, Ball(p, tau))
    expected = -tau * torch.linalg.vector_norm(weights, ord=dual_exponent(p))
    torch.testing.assert_close(result.margin, expected.expand(2), rtol=1e-12, atol=0)


@pytest.mark.parametrize("p", NORMS)
def test_fixed_direction_along_the_weights_is_optimal_when_steepest(lab, p):
    linear, x, y, w = setting(lab)
    best = run_attack(Steepest(), linear, x, y, Ball(p, 0.5)).margin
    torch.testing.assert_close(run_attack(FixedDirection(w, True), linear, x, y, Ball(p, 0.5)).margin, best)
    scaled = run_attack(FixedDirection(w), linear, x, y, Ball(p, 0.5)).margin
    torch.testing.assert_close(
        linear.margin(x, y) - scaled, (0.5 * w.square().sum() / torch.linalg.vector_norm(w, ord=p)).expand(40)
    )
    assert bool((scaled >= best - 1e-12).all())
    if p == 2:
        torch.testing.assert_close(scaled, best)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("method", [Steepest(), PGD()], ids=["steepest", "pgd"])
def test_minimal_radius_is_the_distance_to_the_hyperplane(lab, method, p):
    linear, x, y, w = setting(lab)
    distance = linear.margin(x, y) / torch.linalg.vector_norm(w, ord=dual_exponent(p))
    found = minimal_radius(linear, x, y, Ball(p, 1e3), method=method, rtol=1e-6)
    wrong = distance <= 0
    assert bool((found.broken[wrong] == 0).all())
    torch.testing.assert_close(found.broken[~wrong], distance[~wrong], rtol=2e-6, atol=0)
    assert bool((found.failed <= distance.clamp_min(0)).all())
    assert bool((linear.margin(x + found.delta, y) <= 0).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_crossing_without_a_line_is_margin_over_gradient_norm(lab, dtype):
    linear, x, y, w = setting(lab, dtype)
    crossing = gradient_crossing(linear, x, y)
    distance = (linear.margin(x, y) / w.norm()).clamp_min(0)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(crossing.length, distance, rtol=tolerance, atol=0)
    torch.testing.assert_close(crossing.gradient_norm, w.norm().expand(len(x)))
    torch.testing.assert_close(crossing.step * crossing.gradient_norm, crossing.length)
    assert bool((first_crossing(linear, x, y, 1e-6)[distance > 1e-5] == math.inf).all())


def test_gradient_step_stops_at_the_hyperplane(lab):
    linear, x, y, w = setting(lab)
    result = run_attack(GradientStep(), linear, x, y, Ball(2, 0.5))
    distance = (linear.margin(x, y) / w.norm()).clamp_min(0)
    torch.testing.assert_close(result.success, distance <= 0.5)
    torch.testing.assert_close(result.delta.norm(dim=1), distance.clamp_max(0.5), rtol=1e-12, atol=0)


@pytest.mark.parametrize("p", NORMS)
def test_strongest_attains_the_closed_form(lab, p):
    linear, x, y, w = setting(lab)
    result = run_attack(Strongest(), linear, x, y, Ball(p, 0.5), generator=torch.Generator().manual_seed(0))
    optimum = linear.margin(x, y) - 0.5 * torch.linalg.vector_norm(w, ord=dual_exponent(p))
    torch.testing.assert_close(result.margin, optimum)
