"""Cluster laws: constants against quadrature and finite differences, samples against their law."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest

from karat.data import CLUSTERS, Gaussian, Quartic, TruncatedGaussian, admissible, overlap

LAWS = [
    Gaussian(),
    Gaussian(scale=math.sqrt(3 / 8)),
    TruncatedGaussian(cut=2.0),
    TruncatedGaussian(cut=0.5, scale=2.0),
    Quartic(),
    Quartic(scale=0.7),
]
laws = pytest.mark.parametrize("law", LAWS, ids=str)


def density(law, x):
    return float(law.log_density(torch.tensor(x, dtype=torch.float64)).exp())


def end(law):
    """Where the density is negligible, or the support ends."""
    return law.cut * law.scale if isinstance(law, TruncatedGaussian) else 40 * law.scale


def expectation(law, function):
    return 2 * quad(lambda x: function(x) * density(law, x), 0, end(law), epsabs=1e-12, limit=300)[0]


def test_every_exported_law_is_tested_here():
    assert {type(law) for law in LAWS} == set(CLUSTERS.values())


@laws
def test_density_integrates_to_one(law):
    assert expectation(law, lambda x: 1.0) == pytest.approx(1, abs=1e-9)


@laws
def test_variance_is_the_second_moment_of_the_density(law):
    assert law.variance == pytest.approx(expectation(law, lambda x: x**2), rel=1e-8)


@laws
def test_log_concavity_is_the_smallest_curvature_of_the_log_density(law):
    step = 1e-3 * law.scale
    reach = min(end(law), 5 * law.scale) - 2 * step
    x = torch.linspace(-reach, reach, 4001, dtype=torch.float64)
    curvature = -(law.log_density(x + step) - 2 * law.log_density(x) + law.log_density(x - step)) / step**2
    assert float(curvature.min()) == pytest.approx(law.log_concavity, rel=1e-4)


@laws
def test_exponential_moment_at_psi2_is_two(law):
    # For the Gaussian the integrand decays like exp(-x^2 / (8 scale^2)): the end at 40 scales is far enough.
    K = law.psi2

    def integrand(x):
        log = float(law.log_density(torch.tensor(x, dtype=torch.float64)))
        return math.exp(log + (x / K) ** 2)

    moment = 2 * quad(integrand, 0, end(law), epsabs=1e-11, limit=300)[0]
    assert moment == pytest.approx(2, rel=1e-8)


@laws
def test_rescaling_scales_every_constant(law):
    wide = law.rescaled(3.0)
    assert wide.log_concavity == pytest.approx(law.log_concavity / 9)
    assert wide.variance == pytest.approx(9 * law.variance)
    assert wide.psi2 == pytest.approx(3 * law.psi2)
    x = torch.linspace(-0.3, 0.3, 7, dtype=torch.float64)
    assert torch.allclose(wide.log_density(3 * x), law.log_density(x) - math.log(3))


@laws
def test_admissible_laws_have_sub_gaussian_norm_one(law):
    assert admissible(law).psi2 == pytest.approx(1, abs=1e-12)


def test_the_standard_gaussian_exceeds_sub_gaussian_norm_one():
    assert Gaussian().psi2 == pytest.approx(math.sqrt(8 / 3))
    assert admissible(Gaussian()).variance == pytest.approx(3 / 8)


@laws
@pytest.mark.parametrize("shift", [0.0, 0.3, -1.1, 2.5])
def test_overlap_is_the_integral_of_the_smaller_density(law, shift):
    grid = torch.linspace(-end(law) - abs(shift), end(law) + abs(shift), 400_001, dtype=torch.float64)
    smaller = torch.minimum(law.log_density(grid), law.log_density(grid + shift)).exp()
    assert overlap(law, shift) == pytest.approx(float(torch.trapezoid(smaller, grid)), abs=2e-4)


@laws
def test_overlap_is_one_without_shift_and_vanishes_far_away(law):
    assert overlap(law, 0.0) == pytest.approx(1)
    assert overlap(law, 100 * law.scale) == pytest.approx(0, abs=1e-12)


@laws
def test_tail_is_symmetric_and_starts_at_one_half(law):
    assert law.tail(0.0) == pytest.approx(0.5)
    assert law.tail(-0.4) == pytest.approx(1 - law.tail(0.4))


@laws
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_samples_follow_the_law(law, dtype, generator):
    # Kolmogorov-Smirnov at n = 4000, false alarm 1e-6 per case; draws are checked against 1 - tail.
    draws = law.sample((50, 80), generator=generator, dtype=dtype)
    assert draws.shape == (50, 80)
    assert draws.dtype == dtype

    # Linear interpolation of the distribution function is off by less than 1e-4, the test sees 0.04.
    grid = np.linspace(-1, 1, 401) * min(end(law), 6 * law.scale)
    values = [1 - law.tail(float(point)) for point in grid]

    def distribution(x):
        return np.interp(x, grid, values)

    assert kstest(draws.flatten().double().numpy(), distribution).pvalue > 1e-6


@laws
def test_sample_moments_match_the_constants(law, generator, close_to_mean):
    draws = law.sample((100_000,), generator=generator, dtype=torch.float64)
    close_to_mean(torch.stack([draws, draws**2], dim=1), [0.0, law.variance])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_truncated_samples_stay_inside_the_cut(dtype, generator):
    law = TruncatedGaussian(cut=0.3, scale=2.0)
    draws = law.sample((10_000,), generator=generator, dtype=dtype)
    assert float(draws.abs().max()) <= 0.6 * (1 + torch.finfo(dtype).eps)
    assert law.log_density(torch.tensor([0.61])).item() == -math.inf


def test_a_far_cut_leaves_the_gaussian():
    law = TruncatedGaussian(cut=60.0)
    assert law.variance == pytest.approx(1)
    assert law.psi2 == pytest.approx(Gaussian().psi2)
    assert law.tail(1.0) == pytest.approx(Gaussian().tail(1.0))


def test_a_near_cut_leaves_the_uniform_law():
    law = TruncatedGaussian(cut=1e-4)
    assert law.variance == pytest.approx(1e-8 / 3)
    assert law.tail(0.5e-4) == pytest.approx(0.25, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(cut=st.floats(0.01, 50))
def test_psi2_lies_between_the_standard_deviation_and_that_of_the_gaussian(cut):
    law = TruncatedGaussian(cut=cut)
    assert math.sqrt(law.variance) < law.psi2 <= math.sqrt(8 / 3) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Gaussian(scale=0.0), "`scale` of `Gaussian` must be a finite number > 0, got 0.0."),
        (lambda: Quartic(scale=-1.0), "`scale` of `Quartic` must be a finite number > 0, got -1.0."),
        (
            lambda: TruncatedGaussian(cut=0.0),
            "`cut` of `TruncatedGaussian` must be a finite number > 0, got 0.0.",
        ),
        (
            lambda: TruncatedGaussian(cut=1.0, scale=math.nan),
            "`scale` of `TruncatedGaussian` must be a finite number > 0, got nan.",
        ),
    ],
)
def test_bad_scales_are_refused_in_one_sentence(build, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build()
