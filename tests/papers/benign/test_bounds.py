"""Formulas of benign against quadrature, brute force and their limits."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from karat.papers.benign.bounds import (
    TheoremSetting,
    clean_error_bound,
    implied_constant,
    robust_error_bound,
    robust_error_floor,
    training_loss_bound,
    training_time,
)
from karat.papers.benign.bounds_hypotheses import (
    largest_constant,
    proof_constant,
    robust_condition,
    theorem_conditions,
)
from karat.papers.benign.bounds_lemmas import (
    gradient_constant,
    loss_ratio_bound,
    loss_ratio_reach,
    margin_bound,
)

HEADLINE = TheoremSetting(n=100, d=1000, m=1000, mu=5.0, tau=0.5, flip_rate=0.1, lr=0.1, init_scale=1e-4)
INSIDE = TheoremSetting(n=10, d=600, m=16, mu=4.95, tau=0.49, flip_rate=0.1, lr=2.7e-6, init_scale=1e-8)


def unmet_hypotheses(setting: TheoremSetting, C: float = 1.0) -> list[str]:
    return [str(one) for one in theorem_conditions(setting, C=C) if one.status == "unmet"]


def test_robust_bound_without_attack_is_the_clean_bound() -> None:
    for C in (1.0, 2.5):
        still = replace(HEADLINE, tau=0.0)
        assert robust_error_bound(still, C=C) == pytest.approx(clean_error_bound(still, C=C), rel=1e-12)


def test_robust_bound_has_both_printed_forms() -> None:
    s, C = replace(HEADLINE, d=20000), 2.0
    other = s.flip_rate + 2 * math.exp(-0.5 * (math.sqrt(s.n / s.d) * s.mu**2 / C - s.tau) ** 2)
    assert robust_error_bound(s, C=C) == pytest.approx(min(1.0, other), rel=1e-12)


def test_robust_bound_is_vacuous_outside_its_radius() -> None:
    assert robust_error_bound(replace(HEADLINE, d=10**8)) == 1.0


@given(d=st.integers(100, 10**6), n=st.integers(2, 1000), mu=st.floats(0.5, 20), tau=st.floats(0, 2))
def test_bounds_grow_with_dimension_and_attack(d: int, n: int, mu: float, tau: float) -> None:
    s = replace(HEADLINE, d=d, n=n, mu=mu, tau=tau)
    assert clean_error_bound(s) <= clean_error_bound(replace(s, d=2 * d))
    assert robust_error_bound(s) >= clean_error_bound(s) - 1e-12
    assert robust_error_bound(s) <= robust_error_bound(replace(s, tau=tau + 0.1))


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_floor_equals_the_integral_for_the_gaussian(mu: float, tau: float) -> None:
    shift = 2 * (1 - tau / mu) * mu

    def smaller(x: float) -> float:
        return min(norm.pdf(x), norm.pdf(x + shift))

    integral, _ = quad(smaller, -shift / 2 - 12, -shift / 2 + 12, points=[-shift / 2])
    assert robust_error_floor(mu, tau, 0.1) == pytest.approx(0.1 + 0.8 / 4 * integral, abs=1e-9)
    assert robust_error_floor(mu, tau, 0.1, overlap=integral) == pytest.approx(
        robust_error_floor(mu, tau, 0.1), abs=1e-9
    )


def test_floor_lies_below_the_best_linear_classifier() -> None:
    for mu, tau in [(1.0, 0.2), (3.0, 0.3)]:
        best = 0.1 + 0.8 * norm.cdf(-(mu - tau))  # the sign of <mu, x>, flipped labels counted at their least
        assert robust_error_floor(mu, tau, 0.1) <= best


def test_floor_is_one_half_when_the_attack_reaches_the_signal() -> None:
    assert robust_error_floor(2.0, 2.0, 0.1) == 0.5
    assert robust_error_floor(2.0, 5.0, 0.0) == 0.5


@pytest.mark.parametrize("robust", [False, True])
def test_implied_constant_inverts_the_bound(robust: bool) -> None:
    for error in (0.11, 0.2, 0.5):
        C = implied_constant(HEADLINE, error, robust=robust)
        bound = (robust_error_bound if robust else clean_error_bound)(HEADLINE, C=C)
        assert bound == pytest.approx(error, rel=1e-9)


def test_margin_bound_covers_the_error_of_a_linear_classifier() -> None:
    """f = <w, x> has mean margin <w, mu> in both classes and Lipschitz constant |w|."""
    for mean, tau in [(1.0, 0.0), (2.0, 0.5), (3.0, 1.0)]:
        exact = 0.1 + 0.8 * norm.cdf(-(mean - tau))
        assert margin_bound(mean, mean, 1.0, tau, 0.1) >= exact
    assert margin_bound(0.4, 5.0, 1.0, 0.5, 0.1) == 1.0


def test_loss_bound_falls_with_the_square_root_of_time() -> None:
    assert training_loss_bound(HEADLINE, 4.0) == pytest.approx(training_loss_bound(HEADLINE, 1.0) / 2)
    smooth = replace(HEADLINE, smooth=True, slope=0.5, smoothness=4.0)
    assert training_loss_bound(smooth, 1.0) == pytest.approx((30 + 3 * 1000**0.25) / 2.5)


def test_training_time_of_the_two_activation_classes() -> None:
    assert training_time(HEADLINE, 0.1) == pytest.approx(900 / (25 * 0.1 * 0.01))
    smooth = replace(HEADLINE, smooth=True, slope=0.5)
    base = (35 + 8 * math.sqrt(1000 / 1000**3)) / (0.5 * 5 * 0.1 * 0.1)
    assert training_time(smooth, 0.1) == pytest.approx(base**2)


@pytest.mark.parametrize("c0", [1.0, 0.2])
def test_training_time_is_when_the_loss_bound_reaches_the_tolerance(c0: float) -> None:
    for tol in (0.01, math.log(2)):
        elapsed = HEADLINE.lr * training_time(HEADLINE, tol, c0=c0)
        assert training_loss_bound(HEADLINE, elapsed, c0=c0) == pytest.approx(tol, rel=1e-12)


def test_headline_cell_is_out_of_regime_and_says_why() -> None:
    unmet = unmet_hypotheses(replace(HEADLINE, psi2=math.sqrt(8 / 3), init_scale=0.02))
    named = {sentence.split(":")[0] for sentence in unmet}
    assert named == {"Asm 1(1)", "Asm 1(3)", "Asm 1(4)", "Def 2.1"}


def test_a_small_cell_meets_every_hypothesis() -> None:
    assert unmet_hypotheses(INSIDE) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"d": 200}, "Asm 1(1)"),
        ({"init_scale": 1e-3}, "Asm 1(3)"),
        ({"lr": 1e-3}, "Asm 1(4)"),
        ({"m": 10**6}, "Asm 1(5)"),
        ({"tau": 5.0}, "Asm 1(6)"),
        ({"psi2": 1.1}, "Def 2.1"),
        ({"theorem_algorithm": False}, "Alg 1"),
        ({"mu": 3.0}, "(B2)"),
        ({"m": 2}, "(B1)"),
        ({"smooth": True, "d": 400}, "(A1)"),
        ({"smooth": True, "mu": 1.5}, "(A2)"),
    ],
)
def test_each_broken_hypothesis_is_named(change: dict[str, float], name: str) -> None:
    start = INSIDE if "smooth" not in change else replace(INSIDE, mu=4.2)
    assert any(sentence.startswith(name) for sentence in unmet_hypotheses(replace(start, **change)))


def test_no_cell_of_the_figures_meets_the_dimension_hypothesis() -> None:
    for d in np.arange(1000, 18001, 1000):
        setting = replace(HEADLINE, d=int(d), mu=1.0, tau=0.1)
        assert any(sentence.startswith("Asm 1(1)") for sentence in unmet_hypotheses(setting))


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"`flip_rate` of `TheoremSetting` must be a finite number >= 0 and <= 0.5"
    ):
        replace(HEADLINE, flip_rate=0.7)
    with pytest.raises(ValueError, match=r"`n` of `TheoremSetting` must be a whole number >= 1, got 0"):
        replace(HEADLINE, n=0)
    assert torch.tensor(robust_error_floor(1.0, 0.0, 0.0)).isfinite()


def test_largest_constant_is_where_the_first_hypothesis_breaks() -> None:
    C = largest_constant(INSIDE)
    assert unmet_hypotheses(INSIDE, C=C * 0.999) == []
    assert unmet_hypotheses(INSIDE, C=C * 1.001) != []
    assert largest_constant(replace(INSIDE, psi2=2.0)) == 0.0


def test_loss_ratio_bound_has_its_printed_limits() -> None:
    """alpha = 0 leaves powers of C1, whatever the dimension; a radius beyond the data gives nothing."""
    smooth = partial(loss_ratio_bound, smooth=True)
    assert smooth(100, 0.0, kappa=0.5, slope=0.5) == pytest.approx(16 * 20**2 / 0.25)
    assert smooth(10**9, 1.0, kappa=1.0, slope=1.0) == pytest.approx(1600, rel=1e-3)
    assert smooth(10, 5.0, kappa=1.0, slope=1.0) == math.inf
    relu = loss_ratio_bound(100, 0.0, kappa=0.5, slope=0.5, smooth=False, c0=0.1)
    assert relu == pytest.approx(48 * 20**2 / (0.1 * 0.25))


def test_printed_constants_are_the_ratio_bounds_at_the_largest_radius() -> None:
    """Half the shortest data point: alpha = sqrt(d/C1)/2 is the largest radius the proofs allow."""
    kappa, slope, d = 0.375, 0.3, 700
    C1 = 10 / kappa
    ratio = partial(loss_ratio_bound, d, math.sqrt(d / C1) / 2, kappa=kappa, slope=slope)
    constant = gradient_constant(kappa=kappa, slope=slope)
    assert constant == pytest.approx(math.sqrt(5 * C1 * ratio(smooth=True)), rel=1e-12)
    printed = 192 * C1 * (C1 + 1 / (4 * C1)) / (0.2 * slope**2)
    assert ratio(smooth=False, c0=0.2) == pytest.approx(printed, rel=1e-12)


def test_reach_is_the_ratio_of_two_margins_moved_apart() -> None:
    reach = loss_ratio_reach(100, 0.5, 1e-3, kappa=0.5)
    farthest = 1e-3 * (math.sqrt(20 * 100) + 0.5) ** 2
    assert reach == pytest.approx((1 + math.exp(farthest)) / (1 + math.exp(-farthest)), rel=1e-12)
    assert loss_ratio_reach(100, 0.5, 1e9, kappa=0.5) > 1e300


def test_the_robust_bound_asks_for_a_small_attack() -> None:
    assert robust_condition(INSIDE).status == "met"
    beyond = replace(INSIDE, tau=3.5)
    assert robust_condition(beyond).status == "unmet"
    assert robust_error_bound(beyond) == 1.0


@pytest.mark.parametrize(("smooth", "slope"), [(False, 1.0), (True, 0.3)])
def test_the_proof_goes_through_from_its_constant_on(smooth: bool, slope: float) -> None:
    C, C1 = proof_constant(kappa=0.375, slope=slope, smooth=smooth), 10 / 0.375
    smooth_ratio = 64 * C1 * (math.sqrt(C1) + 0.5 / math.sqrt(C1)) ** 2
    ratio = (smooth_ratio if smooth else 192 * C1 * (C1 + 1 / (4 * C1))) / slope**2
    assert (1 + 9 / slope) * ratio * (1 / C + math.sqrt(2 / C)) == pytest.approx(1 / 4, rel=1e-9)
