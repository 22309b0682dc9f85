"""Shared tools of the data tests."""

import itertools

import pytest
import torch
from scipy.stats import chi2


@pytest.fixture
def generator():
    """A fresh generator with a fixed seed."""
    return torch.Generator().manual_seed(20240)


@pytest.fixture
def close_to_mean():
    """Assert that an average of independent rows is within 5.5 standard errors of its exact value.

    By the normal approximation one entry raises a false alarm with probability 4e-8.
    """

    def check(rows, exact):
        rows = rows.double().reshape(len(rows), -1)
        error = (rows.mean(dim=0) - torch.as_tensor(exact, dtype=torch.float64).reshape(-1)).abs()
        spread = rows.std(dim=0) / len(rows) ** 0.5
        assert bool((error <= 5.5 * spread + 1e-12).all()), (error / spread).max()

    return check


@pytest.fixture
def follows():
    """Assert that draws from 0..c-1 follow exact probabilities: chi-squared test, false alarm 1e-6."""

    def check(draws, probability):
        observed = torch.bincount(draws, minlength=len(probability)).double()
        possible = probability > 0
        assert observed[~possible].sum() == 0
        expected = probability[possible] * len(draws)
        assert expected.min() > 5, "the chi-squared test needs more draws"
        statistic = float(((observed[possible] - expected) ** 2 / expected).sum())
        assert statistic <= chi2.isf(1e-6, int(possible.sum()) - 1)

    return check


@pytest.fixture
def cube():
    """All 2^D rows of {0, 1}^D, the first coordinate the most significant bit of the row number."""

    def rows(D):
        return torch.tensor(list(itertools.product((0.0, 1.0), repeat=D)), dtype=torch.float64)

    return rows


@pytest.fixture
def row_number():
    """Place of binary rows (n, D) in `cube`."""

    def number(z):
        return (z.long() * 2 ** torch.arange(z.shape[1] - 1, -1, -1)).sum(dim=1)

    return number
