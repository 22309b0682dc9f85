"""The formulas of features against enumeration, limits and each other."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.data import parity_law
from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes


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
    assert bounds.kernel_floor(p_o, 0.1, 0.0) == p_o
    assert 0 <= bounds.fixed_feature_floor(p_o, 5, 10, norm) <= p_o
    assert bounds.fixed_feature_floor(p_o, 5, 10, norm) >= bounds.fixed_feature_floor(p_o, 5, 10, norm + 1)


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


def _moved_by_recursion(steps, lr, decay, length, top):
    """The worst that |w_t - w| and |a_t| can do when every gradient has length one."""
    moved, arm = 0.0, abs(top)
    for _ in range(steps):
        moved = abs(1 - 2 * lr * decay) * moved + 2 * lr * decay * length + lr * arm
        arm += lr
    return moved


@given(st.integers(1, 60), st.floats(1e-4, 0.9), st.floats(0, 0.5), st.floats(0, 3), st.floats(-1, 1))
def test_no_neuron_that_descends_moves_further_than_the_bound(steps, lr, decay, length, top):
    bound = bounds.movement_bound(steps=steps, lr=lr, decay=decay, length=length, top=top)
    assert _moved_by_recursion(steps, lr, decay, length, top) <= bound * (1 + 1e-9)


def test_the_movement_bound_has_the_order_of_the_worst_movement():
    worst = _moved_by_recursion(1000, 0.01, 0.0, 1.0, 0.0)
    assert bounds.movement_bound(steps=1000, lr=0.01, decay=0.0, length=1.0, top=0.0) < 2.01 * worst


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_the_activation_error_is_free_of_the_scale_of_the_data(scale):
    k, D, pairs, p_o, p_fail = 5, 100, 300, 0.3, 0.1
    size = math.log(D * pairs / p_fail)
    variance = p_o * (1 - p_o) / scale**2
    want = (k * size**0.5 + size**1.5) / math.sqrt(variance * scale**2 * (D - k))
    got = bounds.activation_error(k=k, D=D, pairs=pairs, p_o=p_o, p_fail=p_fail)
    assert got == pytest.approx(want)


def test_the_activation_error_vanishes_with_many_patterns():
    few, many = (bounds.activation_error(k=5, D=D, pairs=300, p_o=0.5) for D in (10**4, 10**8))
    assert many < few / 50


@pytest.mark.parametrize("p_o", [0.05, 0.25, 0.5])
def test_correlation_of_the_parity_mixture_is_that_of_its_law(p_o):
    assert bounds.parity_label_corr(p_o) == pytest.approx(parity_law(5, p_o=p_o).label_corr)


_CASES = (
    (
        regimes.theorem1,
        {"k": 5, "D": 100, "pairs": 300, "p_o": 0.1, "label_corr": 0.25},
        {"k": 900, "D": 10**7, "pairs": 10**36, "p_o": 0.5, "label_corr": 0.25},
        ("log^2", "p_o >=", "k^12"),
    ),
    (
        regimes.lemma15,
        {"k": 5, "D": 100, "pairs": 300, "p_o": 0.1, "noise": 0.2},
        {"k": 900, "D": 10**7, "pairs": 300, "p_o": 0.5, "noise": 900**-1.5},
        ("log^2", "p_o >=", "sigma_xi"),
    ),
    (
        regimes.lemma23,
        {"k": 5, "D": 100, "pairs": 50, "p_o": 0.1, "label_corr": 0.25},
        {"k": 9000, "D": 10**9, "pairs": 10**16, "p_o": 0.5, "label_corr": 0.25},
        ("log^2", "p_o >=", "k^4"),
    ),
    (
        regimes.theorem34,
        {
            "k": 5, "d": 1000, "D": 30, "pairs": 700, "p_o": 0.5, "label_corr": 0.25, "p_min": 0.3,
            "sigma_zeta": 0.5,
        },
        {
            "k": 9000, "d": 1000, "D": 30, "pairs": 10**16, "p_o": 0.1, "label_corr": 0.25, "p_min": 0.3,
            "sigma_zeta": 0.01,
        },
        ("log^2", "m >= max(k^4, D, d)", "sigma_zeta <="),
    ),
    (
        regimes.theorem2,
        {"k": 4, "D": 20, "p_o": 0.25},
        {"k": 5, "D": 100, "p_o": 0.5},
        ("odd", "D/16", "p_o = 1/2"),
    ),
    (regimes.theorem29, {"k": 4, "D": 20}, {"k": 5, "D": 100}, ("odd", "D/16")),
)  # fmt: skip


def _unmet(conditions):
    return [condition.name for condition in conditions if condition.status == "unmet"]


@pytest.mark.parametrize(
    ("regime", "broken", "met", "parts"), _CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_hypotheses_name_what_is_broken(regime, broken, met, parts):
    named = _unmet(regime(**broken))
    assert len(named) == len(parts)
    assert all(part in text for part, text in zip(parts, named, strict=True))
    assert _unmet(regime(**met)) == []
    assert len(regime(**met)) == len(regime(**broken))


def test_a_label_without_correlation_is_named_alone():
    conditions = regimes.theorem1(k=5, D=100, pairs=300, p_o=0.5, label_corr=0.0)
    assert _unmet(conditions) == ["Asm A1: label_corr > 0"]


def test_the_repaired_threshold_leaves_a_parity_by_parsevals_count():
    for D, k in ((20, 3), (100, 5)):
        parities, floor = math.comb(D, k), bounds.query_floor(D, k)
        seen = floor * floor**2 / 4
        close = 1 / (2 * bounds.largest_advantage(D, k)) ** 2
        assert seen + close < parities
