"""Adversaries over weights, changes of the gradient, kernel functions and movement."""

import itertools
import math

import pytest
import torch

from karat.attacks import gradient_crossing
from karat.core import Relu, SmoothedRelu
from karat.core.tangent_kernel import gram, profile_of
from karat.nets import as_classifier, init
from karat.papers.lazy.bounds import sharp_flip_length
from karat.probes.gradient_change import certified_step, gradient_change_bound, largest_gradient_change
from karat.probes.kernel_interpolation import interpolant, separating_function
from karat.probes.movement import frobenius_movement, pattern_change, row_movement
from karat.probes.weight_adversary import longest_flip, smallest_gradient, worst_subset


def unit(*shape, seed=0):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)


@pytest.fixture
def net():
    return init.gaussian(60, 800, generator=torch.Generator().manual_seed(1))


def test_the_worst_net_stays_in_the_ball_and_its_flip_is_what_it_says(net):
    x, radius = unit(60), 2 / math.sqrt(800)
    worst = longest_flip(net, x, radius, steps=10)
    assert float(torch.linalg.vector_norm(worst.net.W - net.W, dim=1).max()) <= radius * (1 + 1e-9)
    sign = torch.sign(worst.net(x.unsqueeze(0)))
    assert float(gradient_crossing(as_classifier(worst.net), x.unsqueeze(0), sign).length) == worst.length


@pytest.mark.slow
def test_the_worst_net_reaches_the_sharp_length(net):
    for seed in range(3):
        x = unit(60, seed=seed)
        f, g = net.value_and_input_gradient(x.unsqueeze(0))
        across = float(torch.linalg.vector_norm(g[0] - f * x))
        worst = longest_flip(net, x, 1 / math.sqrt(800), steps=16)
        assert worst.length > 0.97 * sharp_flip_length(abs(float(f)), across, 1.0)


def test_without_movement_the_worst_net_is_the_start(net):
    x = unit(60)
    sign = torch.sign(net(x.unsqueeze(0)))
    plain = float(gradient_crossing(as_classifier(net), x.unsqueeze(0), sign).length)
    assert longest_flip(net, x, 0.0, steps=3).length == pytest.approx(plain)


@pytest.mark.slow
def test_smallest_gradient_falls_with_the_radius_and_starts_at_the_net(net):
    x = unit(60)
    sizes = [smallest_gradient(net, x, C0 / math.sqrt(800)) for C0 in (0.0, 1.0, 3.0)]
    start = float(torch.linalg.vector_norm(net.input_gradient(x.unsqueeze(0))))
    assert sizes[0] == pytest.approx(start, rel=1e-6)
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[1] < start - 0.4


def test_worst_subset_against_brute_force():
    for seed in range(4):
        rows = torch.randn(10, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        best = max(
            float(rows[list(chosen)].sum(dim=0).norm())
            for k in range(1, 11)
            for chosen in itertools.combinations(range(10), k)
        )
        found = worst_subset(rows)
        assert 0.9 * best <= found <= best + 1e-9
    assert worst_subset(torch.zeros(0, 3)) == 0.0


@pytest.mark.slow
def test_gradient_change_lies_between_samples_and_its_bound(net):
    x, tau = unit(5, 60), 0.1
    g = torch.Generator().manual_seed(2)
    found = largest_gradient_change(net, x, tau, generator=g)
    base = net.input_gradient(x)
    for _ in range(20):
        delta = torch.randn(5, 60, generator=g, dtype=torch.float64)
        delta = tau * delta / torch.linalg.vector_norm(delta, dim=1, keepdim=True)
        sampled = torch.linalg.vector_norm(net.input_gradient(x + delta) - base, dim=1)
        assert bool((sampled <= found + 1e-9).all())
    assert bool((found <= gradient_change_bound(net, x, tau)).all())
    assert float(largest_gradient_change(net, x, 0.0, generator=g).max()) == 0.0


def test_certified_steps_land_beyond_the_mirrored_value(net):
    x = unit(12, 60, seed=3)
    length, kappa = certified_step(net, x)
    f, g = net.value_and_input_gradient(x)
    size = torch.linalg.vector_norm(g, dim=1)
    kept = torch.isfinite(length)
    assert bool(kept.any())
    moved = x - (torch.sign(f) * torch.where(kept, length, 0.0) / size).unsqueeze(1) * g
    assert bool((torch.sign(f) * net(moved) <= -f.abs() + 1e-9)[kept].all())
    exact = gradient_crossing(as_classifier(net), x, torch.sign(f)).length
    assert bool((length >= exact)[kept].all())
    assert bool((length * size * (1 - kappa) >= 2 * f.abs() - 1e-9)[kept].all())


def test_kappa_of_a_certified_step_is_the_largest_change_on_its_ray(net):
    x = unit(6, 60, seed=3)
    length, kappa = certified_step(net, x)
    f, g = net.value_and_input_gradient(x)
    size = torch.linalg.vector_norm(g, dim=1)
    for i in torch.flatten(torch.nonzero(torch.isfinite(length))).tolist():
        t = torch.linspace(0, float(length[i]), 4000, dtype=torch.float64).unsqueeze(1)
        ray = x[i] - t * torch.sign(f[i]) * g[i] / size[i]
        seen = torch.linalg.vector_norm(net.input_gradient(ray) - g[i], dim=1).max() / size[i]
        assert float(seen) == pytest.approx(float(kappa[i]), rel=0.02, abs=1e-9)
        assert float(seen) <= float(kappa[i]) + 1e-9


def test_a_net_that_is_linear_on_the_ray_is_flipped_by_twice_the_first_order_step():
    """f = relu(x1) - 0.9 relu(x2) at the diagonal: no kink within reach, so kappa = 0."""
    net = init.gaussian(2, 2, generator=torch.Generator().manual_seed(0))
    net = net.replace(W=torch.eye(2, dtype=torch.float64), a=torch.tensor([1.0, -0.9], dtype=torch.float64))
    x = torch.full((1, 2), 0.5**0.5, dtype=torch.float64)
    f, g = net.value_and_input_gradient(x)
    length, kappa = certified_step(net, x)
    assert float(kappa) == 0.0
    assert float(length) == pytest.approx(2 * float(f) / float(torch.linalg.vector_norm(g)))


def test_interpolant_passes_through_its_targets_with_the_least_norm():
    x, y = unit(8, 3), torch.tensor([1.0, -1.0] * 4, dtype=torch.float64)
    g = interpolant(Relu(), x, y)
    assert torch.allclose(g(x), y, atol=1e-6)
    K = gram(profile_of(Relu()), x)
    assert g.norm == pytest.approx(math.sqrt(float(y @ torch.linalg.solve(K, y))), rel=1e-5)


def test_kernel_function_is_the_mean_of_its_density():
    x, y = unit(4, 3), torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    activation = SmoothedRelu(0.5)
    g = interpolant(activation, x, y, ridge=0.1)
    W = torch.randn(400_000, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    p = unit(5, 3, seed=4)
    mean = ((g.density(W) @ p.T) * activation.derivative(W @ p.T)).mean(dim=0)
    assert torch.allclose(mean, g(p), atol=0.05 * g.random_feature_norm(W[:1000]))


def test_separating_function_has_margin_one_and_no_larger_norm_than_the_interpolant():
    x = unit(20, 4)
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).double()
    g = separating_function(Relu(), x, y)
    assert float((y * g(x)).min()) == pytest.approx(1.0, rel=1e-6)
    assert g.norm <= interpolant(Relu(), x, y).norm * (1 + 1e-6)


def test_movement_of_a_net_that_did_not_move_is_zero(net):
    x = unit(6, 60)
    assert row_movement(net, net) == frobenius_movement(net, net) == pattern_change(net, net, x) == 0.0
    flipped = net.replace(W=-net.W)
    assert pattern_change(flipped, net, x) == 1.0
    assert frobenius_movement(flipped, net) == pytest.approx(2 * float(net.W.norm()))
