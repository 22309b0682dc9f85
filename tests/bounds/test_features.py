"""The formulas of features against enumeration, limits and each other."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.bounds import features as bounds
from karat.data import parity_law


def _all_sign_functions(weights, labels, changes):
    best = 0.0
    for signs in itertools.product((-1, 1), repeat=len(weights)):
        turns = sum(a != b for a, b in itertools.pairwise(signs))
        if turns <= changes:
            best = max(best, sum(w for w, s, y in zip(weights, signs, labels, strict=True) if s == y))
    return best


@given(st.integers(1, 7), st.integers(0, 7), st.floats(0, 0.5))
def test_best_accuracy_is_the_best_of_all_sign_functions(k, changes, p_o):
    weights, labels = bounds.count_weights(k, p_o), bounds.parity_labels(k)
    want = _all_sign_functions(weights, labels, changes)
    assert bounds.best_accuracy(weights, labels, changes) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("k", [3, 5, 9])
@pytest.mark.parametrize("p_o", [0.1, 0.5])
def test_count_weights_are_those_of_the_law(k, p_o):
    law = parity_law(k, p_o=p_o)
    want = [float(law.probability[law.count == s].sum()) for s in range(k + 1)]
    assert bounds.count_weights(k, p_o) == pytest.approx(want)


def test_plateaus_of_the_printed_setting():
    weights, labels = bounds.count_weights(5, 0.5), bounds.parity_labels(5)
    assert bounds.plateaus(weights, labels) == pytest.approx([0.5, 0.6875, 0.765625, 0.84375, 0.921875, 1.0])


def test_enough_changes_fit_any_labels_and_none_gives_the_majority():
    weights, labels = bounds.count_weights(5, 0.25), bounds.parity_labels(5)
    assert bounds.best_accuracy(weights, labels, 5) == pytest.approx(1.0)
    assert bounds.best_accuracy(weights, labels, 0) == pytest.approx(0.5)


@given(st.floats(0.01, 0.5), st.floats(0, 5))
def test_floors_fall_with_the_weights_and_reach_p_o_without_any(p_o, norm):
    assert bounds.fixed_feature_floor(p_o, 5, 10, 0.0) == p_o
    assert bounds.parseval_floor(p_o, 100, 5, 10.0, 0.0) == p_o
    assert bounds.kernel_floor(p_o, 0.1, 0.0) == p_o
    assert 0 <= bounds.parseval_floor(p_o, 100, 5, 300.0, norm) <= p_o
    assert bounds.parseval_floor(p_o, 100, 5, 300.0, norm) >= bounds.parseval_floor(
        p_o, 100, 5, 300.0, norm + 1
    )


def test_the_parseval_floor_is_sharper_than_the_theorem_where_both_say_something():
    for norm in (0.01, 0.1, 0.9):
        own = bounds.fixed_feature_floor(0.5, 5, 600, norm)
        assert bounds.parseval_floor(0.5, 100, 5, 600.0, norm) >= own
    assert bounds.fixed_feature_floor(0.5, 5, 600, 1.0) == 0.0
    assert bounds.parseval_floor(0.5, 100, 5, 600.0, 350.0) > 0.0


@given(st.integers(1, 8), st.floats(0, 1))
def test_eigenvalues_of_a_product_kernel_sum_to_its_diagonal(D, overlap):
    total = sum(math.comb(D, k) * bounds.rbf_parity_eigenvalue(D, k, overlap) for k in range(D + 1))
    assert total == pytest.approx(1.0)


def test_kernel_eigenvalue_is_that_of_the_kernel_matrix():
    import torch

    from karat.core.walsh import cube

    D, overlap = 5, 0.3
    z = cube(D)
    differ = (D - z @ z.T) / 2
    matrix = overlap**differ / 2**D
    parity = z[:, :3].prod(dim=1)
    want = bounds.rbf_parity_eigenvalue(D, 3, overlap)
    assert torch.allclose(matrix @ parity, want * parity)


def test_the_rate_of_the_theorem_says_nothing_at_the_printed_size():
    assert bounds.convergence_bound(5, 300, 600) > 1
    # At T = m^(4/3) the last term is k^2 / m^(2/3): the rate falls once m is huge.
    assert bounds.convergence_bound(2, 10**9, 10**12) < 1


def test_hypotheses_name_what_is_broken():
    assert bounds.unmet_hypotheses(k=5, D=100, pairs=300, p_o=0.5, label_corr=0.0) == [
        "Asm A1: label_corr > 0"
    ]
    unmet = bounds.unmet_hypotheses(k=5, D=100, pairs=300, p_o=0.5, label_corr=0.25)
    assert any("log^2" in text for text in unmet)
    assert any("k^12" in text for text in unmet)
    assert not any("p_o >=" in text for text in unmet)
    assert bounds.fixed_feature_unmet(k=5, D=100, p_o=0.5) == []
    assert len(bounds.fixed_feature_unmet(k=4, D=20, p_o=0.25)) == 3
