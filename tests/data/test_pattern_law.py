"""The law of patterns against its definition, enumerated over the whole cube."""

import math
import re

import pytest
import torch

from karat.data import (
    PatternLaw,
    codebook_law,
    hidden_representation_law,
    independent_law,
    interval_law,
    majority_law,
    mixture_law,
    parity_law,
    random_codes,
)

D, K = 6, 3
ODD = {1, 3}
CODES = torch.tensor([[0.0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=torch.float64)
CODE_LABELS = torch.tensor([1.0, 1, -1, -1], dtype=torch.float64)


def product(z, rate):
    return (rate * z + (1 - rate) * (1 - z)).prod(dim=1)


def mixture_by_definition(z, p_o):
    relevant, background = z[:, :K], z[:, K:]
    agree = ((relevant == relevant[:, :1]).all(dim=1)).double() / 2
    fair = product(z, 0.5)
    return p_o * fair + (1 - p_o) * agree * product(background, p_o / (2 - 2 * p_o))


def codebook_by_definition(z):
    hit = (z[:, None, :K] == CODES).all(dim=2).double()
    return hit.sum(dim=1) / len(CODES) * product(z[:, K:], 0.4)


CASES = {
    "mixture 1/2": (mixture_law(K, ODD, 0.5), lambda z: mixture_by_definition(z, 0.5)),
    "mixture 0.3": (mixture_law(K, ODD, 0.3), lambda z: mixture_by_definition(z, 0.3)),
    "independent": (
        independent_law(K, {2, 3}, 0.7, 0.4),
        lambda z: product(z[:, :K], 0.7) * product(z[:, K:], 0.4),
    ),
    "codebook": (codebook_law(CODES, CODE_LABELS, 0.4), codebook_by_definition),
}


@pytest.fixture(params=CASES)
def case(request, cube):
    """A law, all patterns, their probabilities by definition, and their labels by definition."""
    law, definition = CASES[request.param]
    z = cube(D)
    if law.codes is None:
        counts = {2, 3} if request.param == "independent" else ODD
        positive = [int(count) in counts for count in z[:, :K].sum(dim=1)]
        y = 2 * torch.tensor(positive, dtype=torch.float64) - 1
    else:
        hit = (z[:, None, :K] == CODES).all(dim=2).double()
        y = hit @ CODE_LABELS
    return law, z, definition(z), y


def test_moments_match_enumeration(case):
    law, z, probability, _ = case
    assert float(probability.sum()) == pytest.approx(1)
    mean, covariance = law.moments(D)
    assert torch.allclose(mean, probability @ z)
    centred = z - mean
    assert torch.allclose(covariance, centred.T @ (probability[:, None] * centred), atol=1e-14)


def test_class_probability_and_correlation_match_enumeration(case):
    law, z, probability, y = case
    assert law.class_probability() == pytest.approx(float(probability @ (y > 0).double()))
    gamma = (probability * y) @ z[:, :K] - (probability @ y) * (probability @ z[:, :K])
    assert law.label_corr == pytest.approx(float(gamma.mean()))
    given = [((probability * (y == v)) @ z[:, :K]) / (probability @ (y == v).double()) for v in (1, -1)]
    assert law.label_corr_balanced == pytest.approx(float((given[0] - given[1]).mean() / 2))


def test_sampled_patterns_follow_the_enumerated_law(case, generator, follows, row_number):
    law, _, probability, y = case
    cell, patterns = law.sample(60_000, D, generator=generator)
    rows = row_number(patterns)
    follows(rows, probability)
    assert torch.equal(law.label[cell], y[rows])


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.9])
def test_imbalance_keeps_the_law_given_each_label(case, rate, generator, follows, row_number):
    law, _, probability, y = case
    skewed = law.with_negative_rate(rate)
    assert skewed.class_probability(-1) == pytest.approx(rate)
    share = torch.where(y > 0, (1 - rate) / law.class_probability(1), rate / law.class_probability(-1))
    _, patterns = skewed.sample(120_000, D, generator=generator)
    follows(row_number(patterns), probability * share)


def test_balanced_classes_have_one_correlation():
    for law in (parity_law(5), majority_law(7), mixture_law(5, {1, 3, 5}, 0.2)):
        assert law.class_probability() == pytest.approx(0.5)
        assert law.label_corr == pytest.approx(law.label_corr_balanced)


@pytest.mark.parametrize("p_o", [0.0, 0.1, 0.5])
def test_background_patterns_have_rate_p_o(p_o):
    mean, covariance = parity_law(3, p_o=p_o).moments(5)
    assert mean[3:].tolist() == pytest.approx([p_o] * 2)
    # Components with different rates tie background patterns together, unless p_o = 1/2 (or 0: all absent).
    dependent = abs(float(covariance[3, 4])) > 1e-12
    assert dependent == (0 < p_o < 0.5)


def test_parity_correlation_is_half_the_weight_of_the_agreeing_part():
    for p_o in (0.1, 0.5):
        assert parity_law(5, p_o=p_o).label_corr == pytest.approx((1 - p_o) / 2)


def test_best_threshold_on_the_count_of_the_parity_mixture_is_right_on_27_of_32():
    law = parity_law(5)
    right = torch.where(law.count > 2.5, 1.0, -1.0) == law.label
    assert float(law.probability[right].sum()) == pytest.approx(27 / 32)


def test_without_structure_no_pattern_is_correlated_with_parity():
    law = parity_law(4, structured=False)
    assert law.label_corr == pytest.approx(0, abs=1e-15)
    mean, covariance = law.moments(6)
    assert torch.allclose(mean, torch.full((6,), 0.5, dtype=torch.float64))
    assert torch.allclose(covariance, 0.25 * torch.eye(6, dtype=torch.float64), atol=1e-15)


def test_interval_task_is_a_binomial_tail():
    tail = sum(math.comb(30, s) * 2**s for s in range(20, 31)) / 3**30
    assert interval_law(30, low=20, high=30).class_probability() == pytest.approx(tail)
    fair = sum(math.comb(30, s) for s in range(20, 31)) / 2**30
    assert interval_law(30, low=20, high=30, structured=False).class_probability() == pytest.approx(fair)


def test_majority_counts_are_more_than_half():
    law = majority_law(4, structured=False)
    assert law.label.tolist() == [-1, -1, -1, 1, 1]


def test_hidden_representation_has_balanced_different_codes(generator):
    for k, each in ((3, 4), (50, 50)):
        law = hidden_representation_law(k, codes_per_label=each, generator=generator)
        assert law.class_probability() == pytest.approx(0.5)
        assert law.codes.shape == (2 * each, k)
        assert len(law.codes.unique(dim=0)) == 2 * each


def test_two_codes_recover_the_agreeing_part_of_the_mixture():
    codes = torch.tensor([[0.0] * 5, [1.0] * 5])
    pair = codebook_law(codes, torch.tensor([-1.0, 1.0]), 0.0)
    agreeing = mixture_law(5, {1, 3, 5}, 0.0)
    for first, second in zip(pair.moments(8), agreeing.moments(8), strict=True):
        assert torch.allclose(first, second)
    assert pair.label_corr == pytest.approx(agreeing.label_corr)


def three_cells(probability):
    return PatternLaw(
        probability=torch.tensor(probability, dtype=torch.float64),
        label=torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64),
        background=torch.full((3,), 0.5, dtype=torch.float64),
        component=torch.zeros(3, dtype=torch.int64),
        count=torch.tensor([0, 1, 2]),
        k=2,
    )


def test_zero_probability_cells_are_never_drawn(generator):
    cells, _ = three_cells([0.0, 1.0, 0.0]).sample(1000, 3, generator=generator)
    assert cells.unique().tolist() == [1]


def test_all_patterns_may_be_relevant(generator):
    _, patterns = three_cells([0.2, 0.3, 0.5]).sample(10, 2, generator=generator)
    assert patterns.shape == (10, 2)
    assert three_cells([0.2, 0.3, 0.5]).moments(2)[1].shape == (2, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda g: parity_law(4),
            "`k` of `parity_law` must be odd so that all-zeros and all-ones differ, got 4.",
        ),
        (
            lambda g: three_cells([0.5, 0.2, 0.1]),
            "`probability` of `PatternLaw` must hold numbers >= 0 of sum 1, got sum 0.8.",
        ),
        (lambda g: parity_law(0), "`k` of `parity_law` must be a whole number >= 1, got 0."),
        (
            lambda g: parity_law(3, p_o=0.6),
            "`p_o` of `PatternLaw` must be a finite number >= 0 and <= 0.5, got 0.6.",
        ),
        (
            lambda g: independent_law(3, {0, 1}, 0.5, 0.5),
            "`counts` of `PatternLaw` must be whole numbers in 1..3, got [0, 1].",
        ),
        (
            lambda g: independent_law(3, {1}, 1.5, 0.5),
            "`p_relevant` of `PatternLaw` must be a finite number >= 0 and <= 1, got 1.5.",
        ),
        (
            lambda g: interval_law(3, low=2, high=4),
            "`high` of `interval_law` must be at most `k` = 3, got 4.",
        ),
        (
            lambda g: interval_law(3, low=0, high=2),
            "`low` of `interval_law` must be a whole number >= 1, got 0.",
        ),
        (
            lambda g: interval_law(3, low=3, high=2),
            "`high` of `interval_law` must be a whole number >= 3, got 2.",
        ),
        (
            lambda g: codebook_law(2 * CODES, CODE_LABELS, 0.5),
            "`codes` of `PatternLaw` must hold 0 and 1 only, got [0.0, 2.0].",
        ),
        (
            lambda g: random_codes(9, 3, generator=g),
            "`size` of `random_codes` must be at most 2^k = 8, got 9.",
        ),
        (
            lambda g: parity_law(3).with_negative_rate(1.2),
            "`negative_rate` of `PatternLaw` must be a finite number >= 0 and <= 1, got 1.2.",
        ),
        (
            lambda g: codebook_law(CODES[:2], CODE_LABELS[:2], 0.5).with_negative_rate(0.5),
            "`negative_rate` of `PatternLaw` must be 0 as no pattern has label -1, got 0.5.",
        ),
    ],
)
def test_bad_laws_are_refused_in_one_sentence(build, message, generator):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(generator)
