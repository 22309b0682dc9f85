"""Steps of lazy's proofs against exact scans, brute force and the lines they belong to."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from karat.papers.lazy import bounds, bounds_proofs
from karat.papers.lazy.experiments import proof_steps
from karat.papers.lazy.experiments.gaussian_norms import row_and_spectral_norm

dimensions = st.integers(14, 10**7)
"""From log(4/p_fail)^2 on at p_fail = 0.1, which Lemma B.9 asks for."""


def test_the_chance_that_no_row_exceeds_a_limit_against_draws():
    """False alarm 6e-7: five standard deviations of a share of 20,000 draws."""
    draws = torch.randn(20_000, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    share = float((draws.abs().amax(dim=1) <= 2.5).double().mean())
    p = bounds_proofs.largest_row_probability(50, 2.5)
    assert p == pytest.approx(math.erf(2.5 / math.sqrt(2)) ** 50)
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / 20_000)


def test_the_chance_of_the_printed_limit_vanishes_and_that_of_the_repaired_one_stays():
    for m in (10**3, 10**6, 10**12, 10**18):
        printed, repaired = (
            bounds_proofs.largest_row_probability(m, limit(m, 0.1))
            for limit in (bounds_proofs.largest_row_printed, bounds_proofs.largest_row_repaired)
        )
        assert printed < 0.1 < 0.9 < repaired < 1
    assert bounds_proofs.largest_row_probability(10, 0.0) == 0.0


def test_the_printed_step_on_the_width_fails_up_to_the_dimension_that_is_told():
    d = np.arange(2, 1_000_001, dtype=float)
    holds = 0.33 * d * np.log(d**3.4) <= d**1.2
    first = bounds_proofs.width_step_begins()
    assert not holds[(d >= 10) & (d < first)].any()
    assert holds[d > first].all()
    for one in (50, 784, 10**5, 9 * 10**5):
        assert (bounds_proofs.width_printed(one, one**2.4) <= 1) == holds[one - 2]


@given(d=dimensions, wider=st.floats(1, 1e6), C0=st.floats(0, 100))
def test_the_repaired_step_on_the_width_bounds_the_exponent_of_the_union(d, wider, C0):
    """The line itself, log g <= -sqrt m, with its own p, k and spacing."""
    m, largest = wider * d**2.4, max(1.0, C0)
    assert bounds_proofs.width_repaired(d, m) <= 1
    log_spacing = -4 / 7 * math.log(m * d)
    p = 8 * math.sqrt(d) * math.exp(7 / 8 * log_spacing) + 3 * C0 / math.sqrt(m)
    k = 44 * largest * math.sqrt(m)
    exponent = -p * m + 2 * d * (math.log(10) - log_spacing) + k * math.log(math.e * p * m / k)
    assert exponent <= -math.sqrt(m)


@given(d=dimensions, wider=st.floats(1, 1e6), share=st.floats(0, 1))
def test_the_repaired_bound_on_subsets_follows_from_the_line_before_it(d, wider, share):
    m = wider * d**2.4
    C0, p_fail = share * math.sqrt(m), 0.1
    largest, root = max(1.0, C0), math.sqrt(m)
    line = (
        math.sqrt(44 * largest / root)
        * math.sqrt(88 * largest * root * math.log(m) + 2 * math.log(8 / p_fail))
        + math.sqrt(44 * largest * d / root)
        + 44 * largest * C0 / root
    )
    assert line <= bounds_proofs.subset_union_repaired(m, C0, p_fail)
    if C0 >= 1:  # where the printed factor does no harm
        assert bounds_proofs.subset_union_repaired(m, C0, p_fail) <= bounds.subset_union_bound(m, C0, p_fail)


def test_the_dimension_that_the_proof_takes_for_granted():
    assert bounds_proofs.dimension_step(196, 196**2.4, 0.1) * 196 == pytest.approx(267, abs=1)
    assert bounds_proofs.dimension_step(400, 400**2.4, 0.1) * 400 == pytest.approx(327, abs=1)
    d = np.geomspace(400, 1e12, 200)
    assert all(bounds_proofs.dimension_step(one, one**2.4, 0.1) < 1 for one in d)


@given(d=st.integers(2, 10**6), log_p=st.floats(-900, -0.01))
def test_the_last_line_follows_from_the_printed_hypotheses(d, log_p):
    if d >= (math.log(4) - log_p) ** 2 and log_p > -700:
        assert bounds_proofs.last_line(d**2.4, math.exp(log_p)) <= 1


def test_the_sketch_against_a_scan_of_gradients():
    """The least drop over all lengths of the gradient between the bound and the start's."""
    for d in (25, 784):
        for change in (0.0, 0.1, 0.3):
            config = proof_steps.ProofStepsConfig(d=d, change=change, draws=1)
            result = proof_steps.run(config, torch.Generator().manual_seed(0))
            B = bounds.value_bound_informal(config.C0, config.p_fail)
            g = np.linspace(math.sqrt(d) / 4, math.sqrt(d / 2), 10_001)
            eta = 2 * B / g**2
            printed, squared = eta * (g - change * d**0.375), eta * g * (g - change * d**0.375)
            assert result.sketch == pytest.approx(printed.min() / B)
            assert result.sketch_repaired == pytest.approx(squared.min() / B)


def test_the_kth_largest_normal_has_the_law_of_a_sorted_sample():
    """False alarm 1e-6."""
    generator = torch.Generator().manual_seed(0)
    drawn = proof_steps.largest_sum(200, 17, 2000, groups=1, generator=generator) / 17
    samples = torch.randn(2000, 200, generator=generator, dtype=torch.float64)
    sorted_ones = samples.sort(dim=1, descending=True).values[:, 16]
    assert stats.ks_2samp(drawn.numpy(), sorted_ones.numpy()).pvalue > 1e-6


@pytest.mark.parametrize("k", [17, 200])
def test_groups_of_one_add_up_to_the_largest_sum(k):
    """False alarm 2e-6. Beyond the positive ones nothing is added."""
    generator = torch.Generator().manual_seed(0)
    drawn, coarse = (
        proof_steps.largest_sum(200, k, 2000, groups=groups, generator=generator) for groups in (k, 16)
    )
    samples = torch.randn(2000, 200, generator=generator, dtype=torch.float64)
    sums = samples.sort(dim=1, descending=True).values[:, :k].clamp_min(0).sum(dim=1)
    assert stats.ks_2samp(drawn.numpy(), sums.numpy()).pvalue > 1e-6
    assert 0.7 * drawn.mean() < coarse.mean() < drawn.mean()


@pytest.mark.parametrize("shape", [(12, 5), (5, 5), (6, 5), (5, 12), (1, 4), (4, 1)])
def test_both_norms_have_the_law_of_a_matrix(shape):
    """False alarm 2e-5: 18 Kolmogorov tests; the product tells of the joint law."""
    generator = torch.Generator().manual_seed(0)
    pairs = [row_and_spectral_norm(*shape, generator=generator) for _ in range(1000)]
    drawn = torch.tensor(pairs, dtype=torch.float64)
    matrices = torch.randn(1000, *shape, generator=generator, dtype=torch.float64)
    seen = torch.stack([matrices[:, 0].norm(dim=1), torch.linalg.matrix_norm(matrices, 2)], dim=1)
    for one, two in ((drawn[:, 0], seen[:, 0]), (drawn[:, 1], seen[:, 1]), (drawn.prod(1), seen.prod(1))):
        assert stats.ks_2samp(one.numpy(), two.numpy()).pvalue > 1e-6


def test_no_rows_have_no_length():
    assert row_and_spectral_norm(0, 5, generator=torch.Generator()) == (0.0, 0.0)


def test_subset_sums_lie_between_the_two_numbers():
    """Brute force: the largest sum of at most k of few rows, against both ends with the same k."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(300, 6, generator=generator, dtype=torch.float64)
    k = 90
    along = W[:, 0].sort(descending=True).values
    greedy = along[:k].sum()
    assert k * along[k - 1] <= greedy <= math.sqrt(k) * torch.linalg.matrix_norm(W, 2)


def test_the_linear_model_has_a_gradient_of_length_one():
    config = proof_steps.ProofStepsConfig(d=100, draws=400)
    result = proof_steps.run(config, torch.Generator().manual_seed(0))
    assert result.linear_gradient == pytest.approx(1, abs=0.02)
    # E |t| of a coordinate of a point of the sphere, about sqrt(2/(pi d)).
    assert result.linear_flip == pytest.approx(math.sqrt(2 / math.pi) / 10, rel=0.2)
    assert result.landing == pytest.approx(1)
