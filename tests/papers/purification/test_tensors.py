"""Tensors, series and polynomials of the kernel's lower bound: explicit tensors, quadrature, draws."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from karat.papers.purification.bounds_series import largest_coefficient, least_size, smoothed_coefficients
from karat.papers.purification.experiments.tensors import gram, smallest_norm


def explicit(w: torch.Tensor, v: torch.Tensor, power: int) -> torch.Tensor:
    """The symmetric tensor itself, entry by entry."""
    u = w / w.norm(dim=1, keepdim=True)
    T = torch.zeros((w.shape[1],) * (power + 1), dtype=w.dtype)
    for a, b in zip(v, u, strict=True):
        one = a
        for _ in range(power):
            one = one.unsqueeze(-1) * b
        T += one
    orders = list(itertools.permutations(range(power + 1)))
    return torch.stack([T.permute(order) for order in orders]).mean(dim=0)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_quadratic_form_is_the_squared_norm_of_the_tensor(power):
    generator = torch.Generator().manual_seed(power)
    w, v = (torch.randn(4, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    squared = float(v.flatten() @ gram(w, power) @ v.flatten())
    assert squared == pytest.approx(float(explicit(w, v, power).square().sum()))


def test_no_tensor_is_smaller_than_the_smallest():
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    form, least = gram(w, 3), smallest_norm(w, 3)
    for _ in range(200):
        v = torch.randn(5, 5, generator=generator, dtype=torch.float64)
        v = v / v.norm(dim=1).max()
        assert float(v.flatten() @ form @ v.flatten()) >= least**2 * (1 - 1e-9)


def test_one_vector_has_its_norm_at_right_angles():
    """m = 1: |sym(v (x) u^r)| is smallest for v orthogonal to u, where it is 1/sqrt(r + 1)."""
    w = torch.tensor([[3.0, 0.0, 0.0]], dtype=torch.float64)
    assert smallest_norm(w, 3) == pytest.approx(0.5)


def test_too_many_vectors_cancel():
    assert (
        smallest_norm(torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), 1)
        == 0
    )


@pytest.mark.parametrize("x", [-0.9, 0.0, 0.3, 1.0])
def test_series_sum_to_the_smoothed_relu(x):
    even, odd = smoothed_coefficients(20)
    assert sum(c * x ** (2 * i) for i, c in enumerate(even)) == pytest.approx(norm.pdf(x))
    assert 0.5 + sum(c * x ** (2 * i + 1) for i, c in enumerate(odd)) == pytest.approx(norm.cdf(x))


def test_the_share_above_zero_rises_with_x():
    _, odd = smoothed_coefficients(1)
    assert odd[0] == pytest.approx(1 / math.sqrt(2 * math.pi))


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_no_drawn_polynomial_is_smaller_than_chebyshevs(degree):
    x = np.linspace(0.5, 1, 2001)
    coefficients = np.random.default_rng(degree).uniform(-1, 1, (2000, degree + 1))
    size = np.abs(coefficients @ np.vander(x, degree + 1, increasing=True).T).max(axis=1)
    assert (size / np.abs(coefficients).max(axis=1)).min() >= 1 / largest_coefficient(degree)
    assert least_size(degree, 101) == pytest.approx(1 / largest_coefficient(degree), rel=0.01)
    assert least_size(0, 5) == pytest.approx(1.0)
