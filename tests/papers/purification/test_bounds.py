"""Radii, times, counts and hypotheses of purification."""

import math
from dataclasses import replace

import pytest
from scipy import integrate

from karat.papers.purification import bounds
from karat.papers.purification.bounds_hypotheses import (
    TheoremSetting,
    unmet_clean,
    unmet_fragile,
    unmet_robust,
)

SETTING = TheoremSetting(
    d=200,
    k=30,
    m=1200,
    sigma_x=0.1,
    p=2.0,
    tau=0.07,
    lam=5e-5,
    random_start=True,
    ticket=0.97,
    sampled_noise=False,
    paper_schedule=False,
    axis_dictionary=True,
)


def test_l2_radii_cross_inside_the_window():
    """With no slack the clean net fails before the robust one exactly for k above d^(1/3)."""
    d = 10**6
    low, high = bounds.l2_window(d)
    assert low < high
    for k, separated in ((0.5 * low, False), (2 * low, True)):
        clean = bounds.clean_failure_radius(d, round(k), 1e-9, 0.05)
        robust = bounds.robust_radius(d, round(k), 1e-9)
        assert (clean < robust) is separated


def test_l_inf_radii_leave_a_gap_for_small_exponents():
    clean, robust = bounds.l_inf_radii(50, c0=0.001, c1=0.001)
    assert clean < robust
    assert bounds.clean_failure_radius(100, 10, 0.1, 0.05, p=math.inf, row_sum=2.0) == pytest.approx(
        2 * bounds.xi2(100, 0.1, 0.05) ** 10 / 100
    )
    assert bounds.robust_radius(100, 10, 0.1, p=math.inf, column_sum=2.0) == pytest.approx(
        1 / (2 * 10**1.75 * 100**0.1)
    )


def test_universal_radius_at_no_slack_is_one_over_root_k():
    assert bounds.universal_radius(25, 0.0) == pytest.approx(0.2)


def test_regularisation_is_guarded_at_small_d():
    assert bounds.regularisation(10) == 0
    assert bounds.regularisation(200) == pytest.approx(math.log(math.log(math.log(200))) / 200)


def test_times_are_ordered_for_large_d():
    times = bounds.times(10**6, 200, lr=1e-3, init_scale=1e-9)
    assert times.T_b < times.T_e < times.T_c
    assert times.T_g / times.T_c == pytest.approx(200**2 / (10**6) ** 1.01)


def test_ticket_counts_are_gaussian_tails():
    d, m, c0, gamma = 50, 300, 0.4, 0.1
    c1, c2 = 2 + 2 * (1 - gamma) * c0, gamma * c0

    def tail(level: float) -> float:
        density = lambda t: math.exp(-t * t / 2) / math.sqrt(2 * math.pi)  # noqa: E731
        return integrate.quad(density, math.sqrt(level * math.log(d)), 40)[0]

    two = 2 * tail(c1 - c2)
    counts = bounds.ticket_counts(d, m, c0, gamma)
    assert counts.sure == pytest.approx(m * tail(c1 + c2) * (1 - two) ** (d - 1), rel=1e-6)
    assert counts.potential == pytest.approx(m * two, rel=1e-6)
    assert counts.tickets_per_neuron == pytest.approx(d * two, rel=1e-6)


def test_mixture_ratio_is_the_waking_probability():
    assert bounds.mixture_ratio(4.7, 200) == pytest.approx(0.0235)


def test_finite_size_regime_lists_what_it_breaks():
    unmet = unmet_robust(SETTING)
    for part in (
        "k <= d^0.499",
        "lambda",
        "Lem B.2",
        "T_a < T_b",
        "schedules",
        "k^2.5 < d^(1 - 2 c0)/log d",
        "d^(1/3) < k < d^0.4",
    ):
        assert any(part in sentence for sentence in unmet), part
    assert not any("row and column sums" in sentence for sentence in unmet)


def met(d: int, k: int, m: int) -> TheoremSetting:
    return replace(
        SETTING,
        d=d,
        k=k,
        m=m,
        lam=bounds.regularisation(d),
        ticket=1.5,
        sampled_noise=True,
        paper_schedule=True,
    )


def test_what_is_met_is_not_listed():
    left = unmet_clean(met(10**5, 10, 10**6))
    assert len(left) == 1  # nobody runs full-batch descent with lr = 1/poly(d)
    assert "fixed set" in left[0]


def test_first_phase_is_missing_exactly_where_its_times_are_out_of_order():
    for k in (5, 20, 80):
        times = bounds.times(2000, k, lr=1e-3, init_scale=1e-6)
        listed = any("T_a < T_b" in sentence for sentence in unmet_clean(met(2000, k, 4000)))
        assert listed == (times.T_a >= times.T_b)


def test_fragility_asks_for_enough_codes():
    d, m = 10**6, 10**7
    least = d ** ((1 - 1 / 6) / 3)  # m = d^(1 + 1/6)
    for k, listed in ((round(0.9 * least), True), (round(1.1 * least), False)):
        assert any("Thm E.1" in sentence for sentence in unmet_fragile(met(d, k, m))) is listed


def test_robust_theorem_uses_the_c0_of_the_width():
    """d = 100, m = 1000: d^c0 = 10, so the radius is 0.1/sqrt(k), and d^(1 - 2 c0) = 1."""
    wide = replace(SETTING, d=100, m=1000, k=16)
    for tau, listed in ((0.024, False), (0.026, True)):
        found = unmet_robust(replace(wide, tau=tau))
        assert any("tau = 1/(sqrt(k) d^c0) = 0.025" in sentence for sentence in found) is listed
    assert any(f"= {1 / math.log(100):.3g} with c0 = 0.50" in sentence for sentence in found)
    assert any("sigma_x <= d^(2 - 4 c0)/k^5.5 = 2.4e-07" in sentence for sentence in found)
    narrow = unmet_robust(replace(wide, m=100, tau=0.24))  # c0 = 0
    assert not any("tau = " in sentence for sentence in narrow)


def test_a_dense_dictionary_is_outside_the_l_inf_theorem():
    dense = replace(SETTING, p=math.inf, tau=None, axis_dictionary=False)
    assert any("row and column sums" in sentence for sentence in unmet_robust(dense))
