"""The threshold law at its limits, and its fit on errors of known constants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from karat.papers.benign.bounds_fit import fit_threshold_law, threshold_law

N, BETA = 100, 0.1
MU, D = (table.ravel() for table in np.meshgrid([1.0, 2.0, 3.0, 4.0, 6.0, 8.0], [1e3, 4e3, 18e3]))


def both(kappa, rho, ratio=0.1):
    """Clean and robust errors of the law over the grid, as a sweep gives them."""
    mu, d = np.tile(MU, 2), np.tile(D, 2)
    tau = np.concatenate([np.zeros_like(MU), ratio * MU])
    error = threshold_law(mu, tau, N, d, BETA, kappa=kappa, rho=rho)
    return error, {"mu": mu, "tau": tau, "n": N, "d": d, "flip_rate": BETA}


def test_law_is_chance_without_signal_and_the_flip_rate_with_a_strong_one():
    error = threshold_law([0.0, 100.0], [0.0, 0.0], N, 1000, BETA, kappa=0.5, rho=1.0)
    np.testing.assert_allclose(error, [0.5, BETA])


def test_law_tends_to_one_less_the_flip_rate_under_a_strong_attack():
    np.testing.assert_allclose(threshold_law(1.0, 100.0, N, 1000, BETA, kappa=0.5, rho=1.0), 1 - BETA)


def test_law_is_halfway_where_the_margin_is_the_upper_quartile():
    mu = np.sqrt(norm.ppf(0.75) / 0.5 / np.sqrt(N / 1000))
    halfway = (0.5 + BETA) / 2
    np.testing.assert_allclose(threshold_law(mu, 0.0, N, 1000, BETA, kappa=0.5, rho=1.0), halfway)


@settings(max_examples=30, deadline=None)
@given(kappa=st.floats(0.1, 2.0), rho=st.floats(0.2, 4.0))
def test_fit_recovers_known_constants(kappa, rho):
    error, setting = both(kappa, rho)
    fit = fit_threshold_law(error, **setting)
    np.testing.assert_allclose((fit.kappa, fit.rho), (kappa, rho), rtol=1e-4)
    assert fit.rmse < 1e-6
    np.testing.assert_allclose(fit.fitted, error, atol=1e-5)


def test_fit_of_noisy_errors_is_near_and_knows_its_misfit():
    error, setting = both(0.528, 1.31)
    noise = 0.01 * np.random.default_rng(0).standard_normal(error.shape)
    fit = fit_threshold_law(error + noise, **setting)
    assert fit.kappa == pytest.approx(0.528, rel=0.1)
    assert fit.rho == pytest.approx(1.31, rel=0.2)
    assert fit.rmse == pytest.approx(0.01, rel=0.3)


def test_fit_survives_errors_that_are_all_saturated():
    fit = fit_threshold_law([0.1] * 4, mu=50.0, tau=0.1, n=N, d=10.0, flip_rate=BETA)
    assert np.isfinite([fit.kappa, fit.rho, fit.rmse]).all()


@pytest.mark.parametrize(
    ("error", "tau", "message"),
    [
        ([0.3, 0.2], 0.1, "at least 3 numbers, got 2"),
        ([0.3, 0.2, np.nan], 0.1, "`error` of `fit_threshold_law` must hold finite numbers"),
        ([0.3, 0.2, 0.1], 0.0, "rho is unknown without it"),
    ],
)
def test_fit_refuses_what_it_cannot_read(error, tau, message):
    with pytest.raises(ValueError, match=message):
        fit_threshold_law(error, mu=2.0, tau=tau, n=N, d=1000.0, flip_rate=BETA)
