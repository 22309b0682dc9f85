"""Nets of paired balls that have the sign of a linear function: attacks, small cases, limits."""

import math

import pytest
import torch

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.nets import as_classifier, init
from karat.papers.convergence.experiments.linear_sign import (
    certified_signs,
    lit_radius,
    net_of_sign,
    widest_direction,
)


def separable(n, d, generator):
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).double()
    x[:, 0] += 2 * y
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True), y


def test_the_widest_direction_is_that_of_a_dense_search():
    x, y = separable(6, 2, torch.Generator().manual_seed(1))
    angles = torch.linspace(0, 2 * math.pi, 100_001, dtype=torch.float64)
    around = torch.stack([angles.cos(), angles.sin()], dim=1)
    best = (y.unsqueeze(1) * (x @ around.T)).amin(dim=0).max()
    assert float((y * (x @ widest_direction(x, y))).min()) == pytest.approx(float(best), abs=1e-5)


@pytest.mark.parametrize("shift", [1e-4, 0.1, 10.0])
def test_no_attack_breaks_a_certified_point_however_little_the_net_moves(shift):
    g = torch.Generator().manual_seed(0)
    x, y = separable(20, 10, g)
    start = init.paired(10, 400, generator=g, sd_W=1.0, scale=0.05)
    direction = widest_direction(x, y)
    certified = certified_signs(start, direction, x, y, 0.15)
    assert bool(certified.any())
    net = net_of_sign(start, direction, shift)
    x, y = x[certified], y[certified]
    delta = PGD(steps=50)(as_classifier(net), x, y, Ball(2, 0.15))
    assert bool((y * net(x + delta) > 0).all())
    noise = torch.randn(200, 1, 10, generator=g, dtype=torch.float64)
    noise = 0.15 * noise / torch.linalg.vector_norm(noise, dim=2, keepdim=True)
    assert bool((y * net((x + noise).reshape(-1, 10)).reshape(200, -1) > 0).all())


def test_the_sign_is_that_of_the_linear_function_or_zero():
    g = torch.Generator().manual_seed(0)
    start = init.paired(3, 6, generator=g, sd_W=1.0, scale=1.0)
    direction = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    x = torch.randn(1000, 3, generator=g, dtype=torch.float64)
    value = net_of_sign(start, direction, 0.01)(x)
    assert bool((value * x[:, 0] >= -1e-12).all())
    # Three pairs leave inputs at which none is active: there the net is zero, and nothing is certified.
    dark = value.abs() < 1e-12
    assert bool(dark.any())
    y = torch.sign(x[:, 0])
    assert not bool(certified_signs(start, direction, x[dark], y[dark], 1e-9).any())


def test_some_pair_stays_active_within_the_radius_and_all_can_go_dark_at_twice_a_point():
    g = torch.Generator().manual_seed(0)
    x, _ = separable(5, 3, g)
    start = init.paired(3, 12, generator=g, sd_W=1.0, scale=1.0)
    radius = lit_radius(start, x)
    direction = torch.randn(4000, 1, 3, generator=g, dtype=torch.float64)
    near = x + 0.999 * radius.unsqueeze(1) * direction / torch.linalg.vector_norm(
        direction, dim=2, keepdim=True
    )
    assert bool((near.reshape(-1, 3) @ start.W.T > 0).any(dim=1).all())
    assert bool((radius <= torch.linalg.vector_norm(x, dim=1) + 1e-12).all())


def test_nothing_is_certified_without_twins_or_beyond_the_linear_margin():
    g = torch.Generator().manual_seed(0)
    x, y = separable(10, 10, g)
    direction = widest_direction(x, y)
    start = init.paired(10, 400, generator=g, sd_W=1.0, scale=0.05)
    margin = float((y * (x @ direction)).min())
    assert not bool(certified_signs(start, direction, x, y, 1.01 * margin).all())
    unpaired = init.gaussian(10, 400, generator=g, dtype=torch.float64)
    assert not bool(certified_signs(unpaired, direction, x, y, 0.01).any())
