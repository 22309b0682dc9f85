"""Radii, times, counts and hypotheses of purification."""

import math
from dataclasses import replace

import pytest
from scipy import integrate

from karat.papers.purification import bounds
from karat.papers.purification.bounds_hypotheses import (
    TheoremSetting,
    of_adversarial_training,
    of_clean_training,
    of_fragility,
    of_the_lottery,
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
    clean_time=12.0,
    robust_time=2.4,
)


def named(conditions, name):
    """The one condition whose name contains these words."""
    (found,) = [condition for condition in conditions if name in condition.name]
    return found


def unmet(conditions):
    return [condition.name for condition in conditions if condition.status == "unmet"]


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


def test_sure_winners_of_every_feature_need_dimensions_that_nobody_has():
    """At the root the leading terms of the exact tails give 4 log d winners; c0 = 1, gamma = 0.1: 1e96."""
    exponent = bounds.sure_winners_from(1.0, 0.1)
    assert exponent == pytest.approx(96.3, abs=0.1)
    log_d, c1, c2 = exponent * math.log(10), 2 + 2 * 0.9, 0.1
    level = (c1 + c2) * log_d
    expected = math.exp(2 * log_d - level / 2) / math.sqrt(2 * math.pi * level)  # m = d^2 neurons
    assert expected == pytest.approx(4 * log_d, rel=1e-6)
    assert bounds.sure_winners_from(0.34, bounds.GAMMA) > 5000


def test_gamma_is_the_largest_that_the_paper_allows():
    d, c0 = 200, 0.34
    assert bounds.xi2(d, c0, bounds.GAMMA) ** 100 == pytest.approx(d**c0)


def test_finite_size_regime_lists_what_it_breaks_with_both_sides():
    conditions = of_adversarial_training(SETTING)
    for name in (
        "k <= d^0.499",
        "4 log d sure winners",
        "b0 >= ",
        "T_a <= T_b",
        "schedules",
        "k^2.5 <= d^(1 - 2 c0)/log d",
        "T_g >= k^2 log(d)/lr",
        "Cor F.3: k <= d^0.4",
    ):
        assert named(conditions, name).status == "unmet", name
    condition = named(conditions, "T_g >= k^2 log(d)/lr")
    assert (condition.value, condition.bound) == (pytest.approx(480), pytest.approx(900 * math.log(200)))
    assert not any("row and column sums" in condition.name for condition in conditions)


def test_what_the_paper_waives_is_waived_with_its_sentence():
    conditions = of_clean_training(SETTING)
    waivers = {condition.name: condition.note for condition in conditions if condition.status == "waived"}
    assert len(waivers) == 3
    assert any("stochastic gradient descent" in note for note in waivers.values())
    assert any("smoothed ReLU" in note for note in waivers.values())
    assert any("other values of lambda" in note for note in waivers.values())


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


def test_only_the_event_of_the_lottery_is_out_of_reach_of_random_starts():
    assert unmet(of_clean_training(met(10**5, 10, 10**6))) == [
        "Lem B.2: 4 log d sure winners per feature are expected"
    ]


def test_theorems_on_clean_training_can_be_entered_but_for_the_random_start():
    """From pure features everything else can be met: nothing is unmet whatever the run."""
    pure = replace(met(10**5, 10, 10**5), random_start=False)
    assert unmet(of_clean_training(pure)) == ["Sec 4.1: random start w ~ N(0, sigma_0^2 I)"]


def test_first_phase_is_missing_exactly_where_its_times_are_out_of_order():
    for k in (5, 20, 80):
        times = bounds.times(2000, k, lr=1e-3, init_scale=1e-6)
        condition = named(of_the_lottery(met(2000, k, 4000)), "T_a <= T_b")
        assert (condition.status == "unmet") == (times.T_a >= times.T_b)


def test_clean_training_must_last():
    for time, status in ((1.0, "unmet"), (1.1, "met")):
        setting = replace(met(2000, 5, 4000), clean_time=time)  # T_c is 2000^0.01 = 1.08 in rescaled time
        assert named(of_clean_training(setting), "T_f >= T_c").status == status


def test_fragility_asks_for_enough_codes_time_and_radius():
    d, m = 10**6, 10**7
    least = d ** ((1 - 1 / 6) / 3)  # m = d^(1 + 1/6)
    for k, status in ((round(0.9 * least), "unmet"), (round(1.1 * least), "met")):
        assert named(of_fragility(met(d, k, m)), "k >= d^((1 - c0)/3)").status == status
    radius = bounds.universal_radius(30, 0.001)
    for tau, status in ((0.9 * radius, "unmet"), (1.1 * radius, "met")):
        assert named(of_fragility(replace(SETTING, tau=tau)), "tau >= k^-(0.5 + 10 c)").status == status
    late = named(of_fragility(SETTING), "1/(lr lambda Xi2^2)")
    assert (late.value, late.status) == (12.0 * 200, "unmet")


def test_robust_theorem_uses_the_c0_of_the_width():
    """d = 100, m = 1000: d^c0 = 10, so the radius is 0.1/sqrt(k), and d^(1 - 2 c0) = 1."""
    wide = replace(SETTING, d=100, m=1000, k=16)
    for tau, status in ((0.024, "met"), (0.026, "unmet")):
        conditions = of_adversarial_training(replace(wide, tau=tau))
        condition = named(conditions, "tau <= 1/(sqrt(k) d^c0)")
        assert (condition.status, condition.bound) == (status, pytest.approx(0.025))
    assert named(conditions, "k^2.5").bound == pytest.approx(1 / math.log(100))
    assert named(conditions, "sigma_x").bound == pytest.approx(2.4e-7, rel=0.01)


def test_the_l_inf_theorem_asks_for_its_own_radius_sparsity_and_dictionary():
    dense = replace(SETTING, p=math.inf, tau=0.01, axis_dictionary=False)
    conditions = of_adversarial_training(dense)
    assert named(conditions, "row and column sums").status == "unmet"
    assert named(conditions, "k <= d^0.399").bound == pytest.approx(200**0.399)
    radius = 30 ** -(1.75 + 2 * dense.c0)
    assert named(conditions, "tau <= k^-(1.75 + 2 c0)").bound == pytest.approx(radius)
    assert not any("Cor F.3" in condition.name for condition in conditions)
