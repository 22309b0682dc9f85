"""Tangent kernels: closed forms, quadrature, Monte-Carlo and the degrees they contain."""

import math

import pytest
import torch

from karat.core.activations import QuadraticRelu, Relu, SmoothLeakyRelu, Softplus
from karat.core.smoothings import SmoothedRelu
from karat.core.tangent_kernel import (
    degree_weights,
    empirical_gram,
    gram,
    profile_of,
    quadratic_relu_profile,
    quadrature_profile,
    relu_profile,
    smoothed_relu_profile,
)

U = torch.linspace(-1, 1, 41, dtype=torch.float64)
ALL = [Relu(), QuadraticRelu(), SmoothedRelu(0.5), Softplus(), SmoothLeakyRelu(0.1, 2.0)]


@pytest.mark.parametrize("activation", ALL, ids=lambda a: type(a).__name__)
def test_closed_forms_agree_with_monte_carlo(activation):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(4, 3, generator=g, dtype=torch.float64)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    W = torch.randn(200_000, 3, generator=g, dtype=torch.float64)
    products = (x @ W.T).T
    spread = max(
        float((activation.derivative(products[:, i]) * activation.derivative(products[:, j])).std())
        for i in range(4)
        for j in range(4)
    )
    error = (empirical_gram(W, activation, x) - gram(profile_of(activation), x)).abs().max()
    # Sixteen entries, five standard errors: false alarm below 1e-5.
    assert float(error) < 5 * spread / math.sqrt(200_000) + 1e-12


def test_smoothing_away_gives_the_relu_kernel():
    assert torch.allclose(smoothed_relu_profile(U, 1e-9), relu_profile(U), atol=1e-8)


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_quadrature_agrees_with_the_orthant_probability(sigma):
    error = (quadrature_profile(U, SmoothedRelu(sigma)) - smoothed_relu_profile(U, sigma)).abs().max()
    assert float(error) < 1e-6


def test_quadratic_relu_start_on_the_sphere_has_the_gaussian_kernel():
    g = torch.Generator().manual_seed(1)
    x = torch.eye(3, dtype=torch.float64)[:2] * 0.6 + 0.0
    x[1, 0] = 0.8
    x[0] = torch.tensor([1.0, 0.0, 0.0])
    x[1] = torch.tensor([0.8, 0.6, 0.0])
    W = torch.randn(400_000, 3, generator=g, dtype=torch.float64)
    W = W * (math.sqrt(3) / torch.linalg.vector_norm(W, dim=1, keepdim=True))
    error = (empirical_gram(W, QuadraticRelu(), x) - gram(quadratic_relu_profile, x)).abs().max()
    assert float(error) < 0.03


def test_values_at_the_ends():
    ends = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
    assert torch.allclose(relu_profile(ends), torch.tensor([0.0, 0.0, 0.5], dtype=torch.float64))
    assert torch.allclose(quadratic_relu_profile(ends), torch.tensor([0.0, 0.0, 2.0], dtype=torch.float64))


@pytest.mark.parametrize("d", [3, 5, 8])
def test_relu_keeps_even_and_quadratic_relu_keeps_odd_degrees(d):
    relu, quadratic = (degree_weights(p, d, 9) for p in (relu_profile, quadratic_relu_profile))
    assert all(abs(relu[k]) < 1e-8 for k in (3, 5, 7, 9))
    assert all(relu[k] > 1e-7 for k in (0, 1, 2, 4, 6, 8))
    assert all(abs(quadratic[k]) < 1e-8 for k in (4, 6, 8))
    assert all(quadratic[k] > 1e-7 for k in (0, 1, 2, 3, 5, 7))


def test_degree_weights_sum_to_the_diagonal():
    """sum_k lambda_k N(d, k) is the kernel at u = 1; in three dimensions N = 2k + 1."""
    weights = degree_weights(quadratic_relu_profile, 3, 60)
    assert sum(w * (2 * k + 1) for k, w in enumerate(weights)) == pytest.approx(2.0, rel=1e-3)


def test_gram_matrices_are_symmetric_and_positive():
    x = torch.randn(12, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    for activation in ALL:
        K = gram(profile_of(activation), x)
        assert torch.allclose(K, K.T)
        assert float(torch.linalg.eigvalsh(K).min()) > -1e-9
        assert torch.allclose(K, gram(profile_of(activation), x, x.clone()), atol=1e-6)


def test_inputs_off_the_sphere_are_refused():
    with pytest.raises(ValueError, match="must hold unit vectors"):
        gram(relu_profile, 2 * torch.eye(2))
