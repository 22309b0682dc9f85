"""Gradients of the noisy odd net: the library's own smooth net, limits, and parity."""

import torch

from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.gradients import (
    SIGMA,
    THRESHOLD,
    features,
    noisy_loss,
    printed_gradient,
)


def case(n: int = 30, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    W, x = (torch.randn(size, 5, generator=generator, dtype=torch.float64) for size in (4, n))
    return W, x, torch.where(x.sum(dim=1) > 0, 1.0, -1.0).double(), generator


def test_features_are_the_gradient_of_the_smoothed_net():
    """A second route: the net of the library, differentiated by its own pullback."""
    W, x, _, _ = case()
    net = OddTwoLayer(W, torch.tensor(-THRESHOLD, dtype=torch.float64), SIGMA)
    _, pullback = net.value_and_pullback(x)
    for at in range(3):
        residual = torch.zeros(len(x), dtype=torch.float64)
        residual[at] = 1.0
        assert torch.allclose(pullback(residual)["W"], features(W, x, 1)[at], atol=1e-9)


def test_gradient_is_that_of_finite_differences():
    W, x, y, generator = case()
    rho = SIGMA * torch.randn(3, len(x), len(W), generator=generator, dtype=torch.float64)
    step = torch.zeros_like(W)
    step[1, 2] = 1e-6
    slope = (noisy_loss(W + step, x, y, rho) - noisy_loss(W - step, x, y, rho)) / 2e-6
    assert abs(float(slope - printed_gradient(W, x, y, rho)[1, 2])) < 1e-6


def test_predictors_on_printed_features_are_even_and_on_the_others_odd():
    W, x, _, generator = case()
    v = torch.randn(W.shape, generator=generator, dtype=torch.float64)
    for sign in (-1, 1):
        p, mirrored = ((features(W, points, sign) * v).sum(dim=(1, 2)) for points in (x, -x))
        assert torch.allclose(mirrored, -sign * p)


def test_a_sleeping_net_has_no_gradient():
    W, x, y, _ = case()
    assert float(printed_gradient(1e-6 * W, x, y, torch.zeros(len(x), len(W))).abs().max()) == 0.0
