"""Gaussian smoothings against quadrature (relative accuracy in the tails), Monte-Carlo and their limits."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats
from torch import Tensor

from karat.core import Relu, SmoothedRelu, SmoothedTruncatedRelu, TruncatedRelu

PAIRS = [(SmoothedRelu, Relu), (SmoothedTruncatedRelu, TruncatedRelu)]
sigmas = st.floats(1e-3, 1e2)


def scalar(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def quad(integrand, low: float, high: float, **options) -> float:
    return integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-12, limit=200, **options)[0]


def relu_tail_over_density(u: float) -> float:
    """E max(rho - u, 0) / density(u) for rho ~ N(0, 1): every term positive, so relative accuracy is kept."""
    return quad(lambda s: s * math.exp(-u * s - s * s / 2), 0, 40 / (1 + u))


def truncated_over_probability(z: float, sigma: float) -> float:
    """E clip(z + xi, 0, 1) / P(z + xi > 0): the integral of P(z + xi > t) over 0 < t < 1."""
    top = special.log_ndtr(z / sigma)
    bend = z if 0 < z < 1 else min(0.5, 5 * sigma / (1 + abs(z) / sigma))
    return quad(lambda t: math.exp(special.log_ndtr((z - t) / sigma) - top), 0, 1, points=[bend])


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("u", [0.0, 0.3, 1.0, 3.0, 8.0, 15.0, 25.0, 37.0])
def test_smoothed_relu_keeps_relative_accuracy_down_to_the_smallest_numbers(sigma, u):
    density = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    expected = sigma * density * relu_tail_over_density(u)
    value = SmoothedRelu(sigma)(scalar(-u * sigma)).item()
    assert value == pytest.approx(expected, rel=1e-10, abs=0)
    assert SmoothedRelu(sigma)(scalar(u * sigma)).item() == pytest.approx(u * sigma + expected, rel=1e-14)


@pytest.mark.parametrize("u", [0.5, 2.0, 6.0, 12.0])
def test_smoothed_relu_keeps_relative_accuracy_in_float32(u):
    reference = SmoothedRelu(0.5)(scalar(-0.5 * u)).item()
    assert SmoothedRelu(0.5)(torch.tensor(-0.5 * u)).item() == pytest.approx(reference, rel=1e-4, abs=0)


@pytest.mark.parametrize("u", [0.0, 1.0, 5.0, 20.0, 37.0])
def test_the_derivative_of_smoothed_relu_is_the_normal_distribution_in_both_tails(u):
    act = SmoothedRelu(2.0)
    assert act.derivative(scalar(-2 * u)).item() == pytest.approx(
        math.exp(special.log_ndtr(-u)), rel=1e-10, abs=0
    )
    assert act.derivative(scalar(2 * u)).item() == pytest.approx(special.ndtr(u), rel=1e-15)


@pytest.mark.parametrize("sigma", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("u", [-30.0, -10.0, -3.0, -0.5])
def test_smoothed_truncated_relu_keeps_relative_accuracy_in_the_left_tail(sigma, u):
    z = u * sigma
    expected = truncated_over_probability(z, sigma) * math.exp(special.log_ndtr(u))
    assert SmoothedTruncatedRelu(sigma)(scalar(z)).item() == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("sigma", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("z", [0.0, 0.2, 0.5, 0.7, 1.0, 1.4])
def test_smoothed_truncated_relu_matches_quadrature_in_the_middle(sigma, z):
    expected = truncated_over_probability(z, sigma) * special.ndtr(z / sigma)
    assert SmoothedTruncatedRelu(sigma)(scalar(z)).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("smoothed", "plain"), PAIRS)
@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_a_smoothing_is_the_mean_over_neuron_noise(smoothed, plain, sigma, generator):
    # 5 comparisons at 5.5 standard errors: false alarm 5 * 3.8e-8 = 2e-7.
    n = 200_000
    noise = sigma * torch.randn(n, generator=generator, dtype=torch.float64)
    for z in (-1.0, -0.1, 0.0, 0.4, 1.3):
        draws = plain()(z + noise)
        error = draws.mean() - smoothed(sigma)(scalar(z))
        assert abs(error) <= 5.5 * draws.std() / math.sqrt(n) + 1e-15


@pytest.mark.parametrize(("smoothed", "plain"), PAIRS)
@given(z=st.floats(-50, 50), sigma=sigmas)
def test_smoothing_moves_the_function_by_at_most_its_value_at_the_corner(smoothed, plain, z, sigma):
    gap = abs(smoothed(sigma)(scalar(z)) - plain()(scalar(z)))
    assert gap <= sigma / math.sqrt(2 * math.pi) * (1 + 1e-12)


@pytest.mark.parametrize(("smoothed", "plain"), PAIRS)
@pytest.mark.parametrize("sigma", [1e-8, 1e-30, 1e-300])
def test_without_noise_a_smoothing_is_the_function_itself(smoothed, plain, sigma):
    z = torch.tensor([-1e300, -2.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 1e300], dtype=torch.float64)
    torch.testing.assert_close(smoothed(sigma)(z), plain()(z), rtol=1e-15, atol=1.01 * sigma)
    away = z[(z != 0) & (z != 1)]
    torch.testing.assert_close(smoothed(sigma).derivative(away), plain().derivative(away), rtol=1e-15, atol=0)


@given(z=st.floats(-100, 100), sigma=sigmas)
def test_smoothed_relu_scales_with_its_noise(z, sigma):
    scaled = sigma * SmoothedRelu(1.0)(scalar(z / sigma))
    torch.testing.assert_close(SmoothedRelu(sigma)(scalar(z)), scaled, rtol=1e-9, atol=1e-300)


@given(z=st.floats(-100, 100), sigma=sigmas)
def test_smoothed_relu_minus_its_mirror_image_is_the_identity(z, sigma):
    act = SmoothedRelu(sigma)
    torch.testing.assert_close(act(scalar(z)) - act(scalar(-z)), scalar(z), rtol=1e-12, atol=1e-13)


@given(z=st.floats(-100, 100), sigma=sigmas)
def test_smoothed_truncated_relu_is_symmetric_about_one_half_and_stays_in_the_unit_interval(z, sigma):
    act = SmoothedTruncatedRelu(sigma)
    total = act(scalar(z)) + act(scalar(1 - z))
    torch.testing.assert_close(total, scalar(1.0), rtol=1e-11, atol=0)
    assert 0 <= act(scalar(z)) <= 1
    torch.testing.assert_close(
        act.derivative(scalar(z)), act.derivative(scalar(1 - z)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("act", [SmoothedRelu(0.7), SmoothedTruncatedRelu(0.7)], ids=repr)
def test_the_second_derivative_through_autograd_is_the_gaussian_density(act):
    z = torch.tensor([-2.0, -0.3, 0.0, 0.2, 0.5, 1.0, 1.7], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(act(z).sum(), z, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), z)
    points = z.detach().numpy()
    expected = stats.norm.pdf(points, scale=0.7)
    if isinstance(act, SmoothedTruncatedRelu):
        expected = expected - stats.norm.pdf(points - 1, scale=0.7)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-10, atol=1e-12)
