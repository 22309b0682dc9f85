"""The smallest norm of a robust function from both sides, and random features on the sphere."""

import math

import pytest
import torch

from karat.core.cap import Cap
from karat.core.smoothings import SmoothedRelu
from karat.core.tangent_kernel import gram, profile_of, quadratic_relu_profile, smoothed_relu_profile
from karat.papers.convergence.bounds import quadratic_features as quadratic_features_bound
from karat.papers.convergence.experiments import (
    classes,
    quadratic_features,
    random_features,
    robust_function,
)
from karat.papers.convergence.experiments.built import build
from karat.papers.convergence.experiments.classes import ClassesConfig
from karat.papers.convergence.experiments.lattice import cap_lattice, lattice_spacing
from karat.papers.convergence.experiments.quadratic_features import QuadraticFeaturesConfig
from karat.papers.convergence.experiments.random_features import FeaturesConfig, finite_sum
from karat.papers.convergence.experiments.robust_function import RobustConfig, fourth_derivative
from karat.papers.convergence.experiments.sets import cap_points, draw_centres
from karat.papers.convergence.experiments.tube import smallest_in_tube
from karat.probes.kernel_interpolation import KernelFunction, interpolant


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def unit(n, d, g):
    x = torch.randn(n, d, generator=g, dtype=torch.float64)
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


def test_a_tube_without_width_is_interpolation():
    x = unit(6, 3, generator())
    y = torch.tensor([1.0, -1, 1, -1, 1, -1], dtype=torch.float64)
    tube = smallest_in_tube(SmoothedRelu(0.5), x, y, 1e-9)
    exact = interpolant(SmoothedRelu(0.5), x, y, ridge=0.0)
    assert tube.function.norm == pytest.approx(exact.norm, rel=1e-5)
    assert tube.norm_bound == pytest.approx(exact.norm, rel=1e-5)


def test_one_point_has_a_closed_form():
    """|f(x) - 1| <= w with the smallest norm: (1 - w) / sqrt(K(x, x))."""
    x = torch.eye(1, 3, dtype=torch.float64)
    tube = smallest_in_tube(SmoothedRelu(0.5), x, torch.ones(1, dtype=torch.float64), 0.2)
    size = float(smoothed_relu_profile(torch.ones(1, dtype=torch.float64), 0.5))
    assert tube.function.norm == pytest.approx(0.8 / math.sqrt(size), rel=1e-6)
    assert tube.norm_bound == pytest.approx(0.8 / math.sqrt(size), rel=1e-6)


def test_no_function_of_the_tube_lies_below_its_bound():
    g = generator(3)
    x = unit(5, 3, g)
    y = torch.tensor([1.0, -1, 1, -1, 1], dtype=torch.float64)
    tube = smallest_in_tube(SmoothedRelu(0.5), x, y, 0.3)
    K = gram(profile_of(SmoothedRelu(0.5)), x)
    values = y + 0.3 * (2 * torch.rand(500, 5, generator=g, dtype=torch.float64) - 1)
    norms = (values * torch.linalg.solve(K, values.T).T).sum(dim=1).sqrt()
    assert float(norms.min()) >= tube.norm_bound
    assert tube.norm_bound <= tube.function.norm <= tube.norm_bound * (1 + 1e-4)


def test_labels_that_no_function_has_are_told():
    x = torch.tensor([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=torch.float64)
    x = torch.cat([x, torch.tensor([[0.6, 0.8, 0], [-0.6, -0.8, 0]], dtype=torch.float64)])
    y = torch.tensor([1.0, -1, 1, -1, -1, 1], dtype=torch.float64)
    tube = smallest_in_tube(SmoothedRelu(0.5), x, y, 0.2)
    assert tube.outside > 0.1
    assert tube.norm_bound > 1e3


def test_gradients_of_kernel_functions_match_differences():
    g = generator(1)
    f = KernelFunction(SmoothedRelu(0.5), unit(4, 3, g), torch.randn(4, generator=g, dtype=torch.float64))
    x, along = unit(1, 3, g), unit(1, 3, g)
    along = along - (along * x).sum() * x
    step = 1e-5
    ahead, behind = (math.cos(step) * x + s * math.sin(step) * along for s in (1, -1))
    # `along` is no unit vector: the curve leaves the sphere by O(step^2), which the difference does not see.
    ahead, behind = (p / torch.linalg.vector_norm(p) for p in (ahead, behind))
    slope = float((f(ahead) - f(behind)) / (2 * step))
    assert slope == pytest.approx(float((f.gradient(x) * along).sum()), abs=1e-7)


def test_the_fourth_derivative_matches_differences():
    t = 0.02 * torch.tensor([-2.0, -1, 0, 1, 2], dtype=torch.float64)
    k = smoothed_relu_profile(torch.cos(t), 0.5)
    difference = float(k @ torch.tensor([1.0, -4, 6, -4, 1], dtype=torch.float64)) / 0.02**4
    assert fourth_derivative(0.5) == pytest.approx(difference, rel=0.01)


@pytest.mark.parametrize("settings", [{}, {"d": 6}, {"tau": 0.15, "tol": 0.3}])
def test_certified_suprema_cover_points_that_nobody_looked_at(settings):
    config = RobustConfig(rings=12, **settings)
    centres, y = draw_centres(config.n, config.d, config.tau, generator(), up_to_sign=True)
    tube, supremum = robust_function._exchange(config, centres, y, 0.8 * config.tol, generator())
    certified = robust_function._certified_supremum(config, tube.function, centres, y, config.rings)
    points = cap_points(centres, 3000, config.tau, generator(5))
    values = tube.function(points.reshape(-1, config.d)).reshape(len(y), -1)
    seen = float((values - y.unsqueeze(1)).abs().max())
    assert seen <= certified
    # The search finds at least what random points show, to the tolerance of the exchange.
    assert seen <= supremum * (1 + 1e-2)


def test_the_smallest_norm_is_enclosed_and_falls_with_tol():
    results = [robust_function.run(RobustConfig(tol=tol), generator(4)) for tol in (0.1, 0.2, 0.4)]
    for result in results:
        assert result.norm_bound <= result.norm
    bounds = [result.norm_bound for result in results]
    assert bounds == sorted(bounds, reverse=True)
    assert all(r.certified_supremum <= tol for r, tol in zip(results, (0.1, 0.2, 0.4), strict=True))


def test_no_function_comes_nearer_to_opposite_antipodes_than_the_floor():
    config = RobustConfig(data="opposite", n=10, tau=0.02, rings=8)
    result = robust_function.run(config, generator(1))
    assert config.tol < result.distance_floor <= result.supremum <= result.certified_supremum
    assert robust_function.run(RobustConfig(), generator()).distance_floor == 0.0


def test_caps_that_meet_mirror_images_leave_a_floor_that_functions_of_the_space_keep():
    config = RobustConfig(data="compatible", n=10, tau=0.35, rings=8)
    floors = []
    for seed in range(8):
        centres, y = draw_centres(config.n, config.d, config.tau, generator(seed))
        floors.append(robust_function._distance_floor(config, centres, y))
        tube = smallest_in_tube(SmoothedRelu(0.5), centres, y, 0.2)
        points = cap_points(centres, 3000, config.tau, generator(seed))
        values = tube.function(points.reshape(-1, config.d)).reshape(len(y), -1)
        assert float((values - y.unsqueeze(1)).abs().max()) >= 0.9 * floors[-1]
    assert max(floors) > 0.2


def test_gradients_of_finite_sums_match_autograd():
    g = generator(2)
    W, c = (torch.randn(30, 3, generator=g, dtype=torch.float64) for _ in range(2))
    x = unit(5, 3, g).requires_grad_()
    value, gradient = finite_sum(W, c)(x)
    (exact,) = torch.autograd.grad(value.sum(), x)
    assert torch.allclose(gradient, exact)


def test_certified_distances_cover_points_that_nobody_looked_at():
    config = FeaturesConfig(m=200, rings=12)
    result = random_features.run(config, generator())
    start = random_features._draw_start(config, generator())
    g = KernelFunction(SmoothedRelu(0.5), torch.eye(1, 3).double(), torch.ones(1).double())
    c = g.density(start.W[:100]) / 100
    x = unit(3000, 3, generator(7))
    seen = float((finite_sum(start.W[:100], c)(x)[0] - g(x)).abs().max())
    assert seen <= result.features_certified[0]
    assert float((build(start, g)(x) - g(x)).abs().max()) <= result.net_certified[0]
    assert result.features_error[0] <= result.features_certified[0]
    assert result.net_error[0] <= result.net_certified[0]
    assert result.row_radius == pytest.approx(1.0, abs=0.01)


def test_other_dimensions_have_no_certificate():
    result = random_features.run(FeaturesConfig(m=200, d=5, starts=3), generator())
    assert result.features_certified == [math.inf]
    assert 0 < result.features_error[0] < result.size


def test_caps_have_their_points():
    centres, _ = draw_centres(3, 4, 0.2, generator())
    points = cap_points(centres, 50, 0.2, generator(1))
    moved = (points - centres.unsqueeze(1)).reshape(-1, 4)
    assert float(Cap(0.2).excess(moved, centres.repeat_interleave(50, dim=0)).max()) <= 1e-9


@pytest.mark.parametrize("d", [2, 5, 12])
def test_halfspaces_interpolate_pairs_and_have_one_dimension_more(d):
    result = classes.run(ClassesConfig(family="halfspaces", d=d, sets=30), generator())
    assert (result.robust, result.shattered, result.unshattered) == (1.0, d + 1, d + 2)
    through = classes.run(ClassesConfig(family="halfspaces through 0", d=d, sets=30), generator())
    assert through.robust < 1
    assert (through.shattered, through.unshattered) == (d, d + 1)


def test_constants_have_vc_dimension_one():
    result = classes.run(ClassesConfig(family="constants", d=9), generator())
    assert (result.n, result.robust, result.shattered, result.unshattered) == (1, 1.0, 1, 2)
    assert classes.run(ClassesConfig(family="one constant", d=9), generator()).robust == 0.5


def test_fitted_sums_are_the_sums_that_the_theorem_speaks_of():
    """With explicit coefficients the sum is the same, and the certificate covers other points."""
    config = QuadraticFeaturesConfig(tol=0.6, fitted=60, rings=24)
    result = quadratic_features.run(config, generator())
    g = generator()
    M = result.features
    W, x, points = (quadratic_features._sphere(count, g) for count in (M, 60, 4))
    W = W * math.sqrt(3)
    h, slope = quadratic_features._target(config, points, g)
    features = ((x @ W.T).clamp_min(0).unsqueeze(2) * x.unsqueeze(1)).reshape(60, -1)
    gram = features @ features.T
    lifted = gram + quadratic_features.RIDGE * gram.diagonal().mean() * torch.eye(60, dtype=gram.dtype)
    c = (features.T @ torch.linalg.solve(lifted, h(x))).reshape(M, 3)
    fresh = unit(2000, 3, g)
    error = ((fresh @ W.T).clamp_min(0) * (fresh @ c.T)).sum(dim=1) - h(fresh)
    assert result.weight == pytest.approx(M * float(c.square().sum()), rel=1e-6)
    assert float(error.abs().max()) <= result.certified
    assert h.norm == pytest.approx(1.0)
    along = h.gradient(fresh) - (h.gradient(fresh) * fresh).sum(dim=1, keepdim=True) * fresh
    assert float(torch.linalg.vector_norm(along, dim=1).max()) <= slope


def test_the_slope_of_the_quadratic_profile_at_one_is_four():
    u = torch.tensor([1 - 1e-6, 1.0], dtype=torch.float64)
    low, high = quadratic_relu_profile(u).tolist()
    assert (high - low) / 1e-6 == pytest.approx(4.0, rel=1e-2)


def test_quadratic_features_grow_with_the_dimension():
    assert quadratic_features_bound(0.5, 3, 0.05) == pytest.approx(16 * math.log(320))
    assert quadratic_features_bound(0.5, 4, 0.05) == pytest.approx(32 * math.log(640))
    assert quadratic_features_bound(1.0, 4, 1.0) == 1.0


def test_every_point_of_the_sphere_is_near_the_lattice():
    lattice = cap_lattice(torch.eye(1, 3, dtype=torch.float64)[0], 2.0, 12)
    nearest = torch.cdist(unit(4000, 3, generator()), lattice).amin(dim=1)
    assert float(nearest.max()) <= lattice_spacing(2.0, 12)


def test_second_derivatives_along_geodesics_stay_below_their_bounds():
    g = generator(6)
    W, c = (torch.randn(1, 3, generator=g, dtype=torch.float64) for _ in range(2))
    limit = random_features._bend(*(torch.linalg.vector_norm(rows, dim=1) for rows in (c, W)))
    x, along = unit(4000, 3, g), unit(4000, 3, g)
    along = along - (along * x).sum(dim=1, keepdim=True) * x
    along = along / torch.linalg.vector_norm(along, dim=1, keepdim=True)
    step = 1e-3
    values = [finite_sum(W, c)(math.cos(t) * x + math.sin(t) * along)[0] for t in (-step, 0.0, step)]
    second = (values[0] - 2 * values[1] + values[2]) / step**2
    assert float(second.abs().max()) <= limit * (1 + 1e-3)
    f = KernelFunction(SmoothedRelu(0.5), unit(5, 3, g), torch.randn(5, generator=g, dtype=torch.float64))
    values = [f(math.cos(t) * x + math.sin(t) * along) for t in (-step, 0.0, step)]
    second = (values[0] - 2 * values[1] + values[2]) / step**2
    assert float(second.abs().max()) <= f.norm * math.sqrt(fourth_derivative(0.5)) * (1 + 1e-3)
