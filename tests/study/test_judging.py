"""The algebra of findings against other routes: Student's and binomial tests of scipy, and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from karat.study.finding import ERROR, EXPONENT, RATIO, SHARE, Margin, Unit
from karat.study.judging import (
    all_of,
    bound,
    certified,
    curve,
    equal,
    exact_bound,
    identity,
    limit,
    noted,
    one_constant,
    rate,
    share,
    vacuous_if,
)
from karat.study.judging.common import Evidence, judged_on

SEEDS = [0.10, 0.11, 0.12]
MARGIN = Margin(0.05, "half of the printed digit")


def test_bounds_follow_the_interval():
    outcomes = [bound(SEEDS, "at most", edge, ERROR).outcome for edge in (0.01, 0.112, 0.5)]
    assert outcomes == ["fails", "inconclusive", "holds"]
    outcomes = [bound(SEEDS, "at least", edge, ERROR).outcome for edge in (0.01, 0.112, 0.5)]
    assert outcomes == ["holds", "inconclusive", "fails"]


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=9).filter(lambda v: np.std(v) > 1e-3),
    st.floats(-2, 2),
    st.sampled_from(["at most", "at least"]),
)
def test_a_bound_is_students_one_sided_test(values, edge, side):
    finding = bound(values, side, edge, RATIO)
    less, greater = (
        stats.ttest_1samp(values, edge, alternative=alternative).pvalue for alternative in ("less", "greater")
    )
    right, wrong = (less, greater) if side == "at most" else (greater, less)
    if min(abs(right - 0.025), abs(wrong - 0.025)) < 1e-4:
        return  # within the forgiven rounding
    expected = "holds" if right < 0.025 else "fails" if wrong < 0.025 else "inconclusive"
    assert finding.outcome == expected
    if expected != "inconclusive":
        assert finding.p_value == pytest.approx(min(right, wrong), rel=1e-3, abs=1e-9)


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=9).filter(lambda v: np.std(v) > 1e-3),
    st.floats(-1, 1),
    st.floats(0.01, 1),
)
def test_an_equality_is_two_one_sided_tests(values, predicted, size):
    finding = equal(values, predicted, Margin(size, "any"), RATIO)
    above = stats.ttest_1samp(values, predicted - size, alternative="greater").pvalue
    below = stats.ttest_1samp(values, predicted + size, alternative="less").pvalue
    if abs(max(above, below) - 0.025) < 1e-4 or finding.outcome == "fails":
        return
    assert (finding.outcome == "holds") == (max(above, below) < 0.025)


def test_an_interval_that_merely_contains_the_value_proves_nothing():
    assert equal([0.5, 1.0, 1.5], 1.0, MARGIN, RATIO).outcome == "inconclusive"


def test_a_thousand_seeds_do_not_refute_by_a_billionth():
    values = 1 + 1e-9 + 1e-12 * np.random.default_rng(0).normal(size=1000)
    assert equal(values, 1.0, MARGIN, RATIO).outcome == "holds"


@pytest.mark.parametrize("count", [1, 2])
def test_a_random_quantity_needs_three_seeds_and_leans_before(count):
    finding = bound(SEEDS[:count], "at most", 0.5, ERROR)
    assert (finding.outcome, finding.leaning) == ("inconclusive", "holds")
    assert bound(SEEDS[:count], "at most", 0.01, ERROR).leaning == "fails"
    assert equal(SEEDS[:count], 0.9, MARGIN, ERROR).leaning == "fails"
    assert curve([1, 2], [[0.1, 0.1]] * count, [0.2, 0.2], "at most", ERROR).leaning == "holds"
    assert rate([1, 2, 4], [[1, 2, 4]] * count, 1.0, MARGIN).leaning == "holds"


def test_intervals_of_shares_stay_between_zero_and_one():
    interval = bound([0.0, 0.0, 0.3], "at most", 0.5, ERROR).interval
    assert (interval.low, interval.high <= 1) == (0.0, True)
    assert Unit("length", 0.0).clip(interval).low == 0.0


def test_exact_numbers_need_no_seeds():
    assert exact_bound([0.2], "at most", 0.2 + 1e-12, RATIO, "closed form").outcome == "holds"
    assert exact_bound([0.2, 0.3], "at most", 0.25, RATIO, "closed form").outcome == "fails"
    assert identity([1 + 1e-12], 1.0, RATIO).outcome == "holds"
    assert identity([1.0, 1 + 1e-6], 1.0, RATIO).outcome == "fails"


@pytest.mark.parametrize("values", [[], [math.nan, 1.0, 1.0], [math.inf] * 3])
def test_what_cannot_be_compared_is_said(values):
    for finding in (bound(values, "at most", 1.0, RATIO), equal(values, 1.0, MARGIN, RATIO)):
        assert finding.outcome == "inconclusive"
        assert finding.notes
    for nowhere in (math.nan, math.inf, -math.inf):
        finding = bound([1.0] * 3, "at most", nowhere, RATIO)
        assert finding.notes == ("The formula gives no finite number here.",)
        assert equal([1.0] * 3, nowhere, MARGIN, RATIO).outcome == "inconclusive"
        assert exact_bound([1.0], "at most", nowhere, RATIO, "x").outcome == "inconclusive"
        assert curve([1, 2], [[0.1, 0.1]] * 3, [0.5, nowhere], "at most", ERROR).outcome == "inconclusive"


def test_rounding_is_forgiven_in_the_units_of_the_prediction():
    assert exact_bound([5e-10], "at most", 1e-12, RATIO, "x").outcome == "fails"
    assert exact_bound([1e-12 * (1 + 1e-12)], "at most", 1e-12, RATIO, "x").outcome == "holds"
    assert exact_bound([1e-12], "at most", 0.0, RATIO, "x").outcome == "holds"


@pytest.mark.slow
def test_parts_at_their_edge_rarely_fail_together():
    generator, wrong = np.random.default_rng(4), 0
    for _ in range(400):
        parts = [bound(generator.normal(size=5), "at most", 0.0, RATIO) for _ in range(10)]
        wrong += all_of(*parts).outcome == "fails"
    # 2.5 % at most; 22 of 400 are seen with probability 4e-4.
    assert wrong < 22


class TestSizes:
    X = (10, 100, 1000)

    def curves(self, exponent):
        noise = np.random.default_rng(0).normal(size=(4, 3)) / 50
        return np.exp(exponent * np.log(self.X) + noise)

    @pytest.mark.parametrize(("exponent", "outcome"), [(-1.0, "holds"), (-0.8, "fails")])
    def test_an_exponent_is_found(self, exponent, outcome):
        finding = rate(self.X, self.curves(exponent), -1.0, MARGIN)
        assert finding.outcome == outcome
        assert finding.measured == pytest.approx(exponent, abs=0.03)

    def test_two_sizes_are_too_few(self):
        assert rate((1, 2), [[1, 2]] * 3, 1.0, MARGIN).outcome == "inconclusive"

    @pytest.mark.parametrize(("exponent", "outcome"), [(-0.5, "holds"), (0.5, "fails")])
    def test_a_limit_falls(self, exponent, outcome):
        assert limit(self.X, self.curves(exponent)).outcome == outcome

    def test_a_curve_that_settles_or_turns_is_left_open(self):
        x = np.array([10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0])
        noise = 1 + 1e-3 * np.random.default_rng(1).normal(size=(4, 6))
        assert limit(x, (0.5 + 10 / x) * noise, least=0.05).outcome == "inconclusive"
        assert limit(x, 10 / x * noise, least=0.05).outcome == "holds"
        valley = np.array([100.0, 1.0, 0.1, 0.1, 1.0, 10.0]) * noise
        assert one_constant(x, valley, "at most", MARGIN).outcome == "inconclusive"

    @pytest.mark.parametrize(
        ("exponent", "side", "outcome"),
        [
            (-0.5, "at most", "holds"),
            (0.0, "at most", "holds"),
            (0.5, "at most", "fails"),
            (-0.5, "at least", "fails"),
            (0.5, "at least", "holds"),
        ],
    )
    def test_a_hidden_constant_can_fail(self, exponent, side, outcome):
        finding = one_constant(self.X, self.curves(exponent), side, MARGIN)
        assert finding.outcome == outcome
        assert "constant needed" in finding.caveat


@given(
    st.integers(0, 60), st.integers(1, 60), st.floats(0.05, 0.95), st.sampled_from(["at most", "at least"])
)
def test_a_share_is_the_binomial_test(successes, trials, predicted, side):
    if successes > trials:
        return
    finding = share(successes, trials, side, predicted)
    low = stats.binom.cdf(successes, trials, predicted)
    high = stats.binom.sf(successes - 1, trials, predicted)
    right, wrong = (low, high) if side == "at most" else (high, low)
    if min(abs(right - 0.025), abs(wrong - 0.025)) < 1e-6:
        return
    assert finding.outcome == ("holds" if right < 0.025 else "fails" if wrong < 0.025 else "inconclusive")
    assert 0 <= finding.interval.low <= finding.measured <= finding.interval.high <= 1


class TestWorstCases:
    def test_attacks_alone_never_show_a_worst_case(self):
        assert certified(SEEDS, [], 0.5, ERROR).outcome == "inconclusive"

    def test_certificates_show_it(self):
        assert certified(SEEDS, [0.2, 0.21, 0.22], 0.5, ERROR).outcome == "holds"

    def test_attacks_refute_it_whatever_the_certificate(self):
        assert certified([0.6, 0.61, 0.62], [0.9, 0.9, 0.9], 0.5, ERROR).outcome == "fails"
        assert certified([0.6, 0.61, 0.62], [], 0.5, ERROR).outcome == "fails"

    def test_an_open_bracket_stays_open_and_is_said(self):
        finding = certified(SEEDS, [0.6, 0.61, 0.62], 0.5, ERROR)
        assert finding.outcome == "inconclusive"
        assert "reached by attack" in finding.caveat

    def test_accuracies_are_worst_cases_from_below(self):
        assert certified([0.8, 0.81, 0.82], [0.7, 0.71, 0.72], 0.5, ERROR, "at least").outcome == "holds"
        assert certified([0.3, 0.31, 0.32], [], 0.5, ERROR, "at least").outcome == "fails"


def test_a_certain_event_is_refuted_by_one_draw_and_shown_by_none():
    assert share(40, 40, "at least", 1.0).outcome == "inconclusive"
    assert share(39, 40, "at least", 1.0).outcome == "fails"
    assert share(0, 40, "at most", 0.0).outcome == "inconclusive"


def test_an_attack_beyond_its_certificate_shows_nothing():
    finding = certified([0.15, 0.16, 0.17], [0.05, 0.05, 0.06], 0.5, ERROR)
    assert finding.outcome == "inconclusive"
    assert "goes beyond the certificate" in finding.caveat


def test_certificates_that_are_missing_leave_what_the_attack_says():
    finding = certified([0.6, 0.61], [math.nan, math.nan], 0.5, ERROR)
    assert (finding.outcome, finding.leaning) == ("inconclusive", "fails")


def test_what_is_no_probability_is_not_compared():
    assert share(0, 40, "at least", -0.2).outcome == "inconclusive"
    assert share(40, 40, "at most", 1.2).outcome == "inconclusive"


class TestCombining:
    GOOD, BAD = bound(SEEDS, "at most", 0.5, ERROR), bound(SEEDS, "at most", 0.01, ERROR)
    OPEN = bound(SEEDS, "at most", 0.112, ERROR)

    def test_the_worst_part_decides(self):
        assert all_of(self.GOOD, self.GOOD).outcome == "holds"
        assert all_of(self.GOOD, self.OPEN).outcome == "inconclusive"
        assert all_of(self.GOOD, self.OPEN, self.BAD).outcome == "fails"
        assert all_of(self.GOOD, self.BAD).predicted == 0.01

    def test_its_error_is_that_of_the_parts(self):
        assert all_of(self.GOOD, self.GOOD).p_value == self.GOOD.p_value
        assert all_of(self.GOOD, self.BAD).p_value == pytest.approx(2 * self.BAD.p_value)
        assert all_of(self.GOOD, self.OPEN).p_value is None

    def test_a_trivial_bound_is_vacuous_unless_it_is_violated(self):
        assert vacuous_if(True, "above 1.", self.GOOD).outcome == "vacuous"
        assert vacuous_if(False, "above 1.", self.GOOD).outcome == "holds"
        assert vacuous_if(True, "above 1.", self.BAD).outcome == "fails"

    def test_notes_change_no_outcome(self):
        finding = noted(self.GOOD, "One.", "", "Two.")
        assert (finding.outcome, finding.caveat) == ("holds", "One. Two.")

    def test_the_trace_names_every_rule(self):
        trace = all_of(self.GOOD, vacuous_if(True, "x", self.OPEN)).trace
        assert [step.split(":")[0] for step in trace] == ["all of 2", "bound", "vacuous", "bound"]

    def test_a_rate_is_one_step(self):
        assert len(rate([1, 2, 4], [[1, 2, 4]] * 3, 1.0, MARGIN).trace) == 1


def test_curves_are_decided_where_they_are_worst():
    table = [[0.10, 0.20, 0.30], [0.11, 0.21, 0.31], [0.12, 0.22, 0.32]]
    finding = curve([1, 2, 3], table, [0.5, 0.01, 0.5], "at most", ERROR)
    assert (finding.outcome, finding.measured) == ("fails", pytest.approx(0.21))
    assert curve([1, 2, 3], table, [0.11, 0.21, 0.31], MARGIN, ERROR).outcome == "holds"
    assert curve([1, 2, 3], table, [0.11, 0.21, 0.91], MARGIN, ERROR).outcome == "fails"
    assert curve([1, 2, 3], table, [0.5, 0.5, 0.5], "at most", ERROR).measured == pytest.approx(0.31)


def test_open_verdicts_say_how_many_seeds_they_need():
    generator = np.random.default_rng(3)
    few = bound(generator.normal(0.1, 1.0, 10), "at most", 0.6, RATIO)
    assert few.outcome == "inconclusive"
    enough = generator.normal(0.1, 1.0, 4 * few.seeds_needed)
    assert bound(enough, "at most", 0.6, RATIO).outcome == "holds"
    assert bound([1.0, 2.0, 3.0], "at most", 2.0 - 1e-6, RATIO).seeds_needed is None
    # A distance of one standard deviation. At 19 seeds E = 20 needs T > (u - 1)/(1 - u/1901) = 1.040 with
    # u = (400 * 1901)^(1/19) = 2.039, and T = 19/18 = 1.056; at 18 it needs 1.116 and has 18/17 = 1.059.
    assert bound([-1.0, 0.0, 1.0], "at most", 1.0, RATIO).seeds_needed == 19


def test_a_margin_without_a_reason_is_refused():
    with pytest.raises(ValueError, match="must say why"):
        Margin(0.1, "")
    with pytest.raises(ValueError, match="finite number > 0"):
        Margin(0.0, "none")


def test_units_are_named():
    assert {unit.name for unit in (ERROR, SHARE, RATIO, EXPONENT)} == {
        "error rate",
        "share",
        "ratio",
        "exponent",
    }


def decides(values, added):
    """Whether somebody who looks after every seed from the third on ever says that a true bound fails."""
    with judged_on(Evidence(added=added)):
        return any(
            bound(values[:n], "at most", 0.0, RATIO).outcome != "inconclusive"
            for n in range(3, len(values) + 1)
        )


def test_looking_after_every_seed_needs_the_anytime_valid_interval():
    draws = np.random.default_rng(5).normal(size=(300, 15))
    often, seldom = (sum(decides(row, added) for row in draws) for added in (False, True))
    assert often > stats.binom.isf(1e-6, 300, 0.05)
    assert seldom <= stats.binom.isf(1e-6, 300, 0.05)


def test_seeds_added_after_a_look_widen_every_rule():
    generator = np.random.default_rng(6)
    values, table = generator.normal(0.5, 0.1, 6), generator.normal(0.5, 0.1, (6, 4))
    sizes = [1.0, 2.0, 4.0, 8.0]

    def findings():
        return [
            bound(values, "at most", 0.9, RATIO),
            equal(values, 0.5, Margin(0.2, "a fifth"), RATIO),
            certified(values, values + 0.1, 0.9, RATIO),
            rate(sizes, table, 0.0, Margin(0.5, "half a power")),
            share(30, 40, "at least", 0.5),
            curve(sizes, table, [0.9] * 4, "at most", RATIO),
        ]

    planned = findings()
    with judged_on(Evidence(added=True)):
        added = findings()
    for short, long in zip(planned, added, strict=True):
        assert long.interval.low < short.interval.low < short.interval.high < long.interval.high
        assert long.measured == short.measured
        if long.p_value is not None:
            assert long.p_value > short.p_value


def test_the_seeds_asked_for_settle_it_though_they_are_added_after_a_look():
    values = [0.10, 0.16, 0.13]
    needed = bound(values, "at most", 0.15, ERROR).seeds_needed
    assert needed is not None
    pool = np.array(values)[np.arange(needed) % 3]
    same_spread = pool.mean() + (pool - pool.mean()) * np.std(values, ddof=1) / pool.std(ddof=1)
    same_mean = same_spread + np.mean(values) - same_spread.mean()
    with judged_on(Evidence(added=True)):
        assert bound(same_mean, "at most", 0.15, ERROR).outcome == "holds"
        assert bound(same_mean[: needed // 2], "at most", 0.15, ERROR).outcome == "inconclusive"


@pytest.mark.parametrize("value", [0.1, 0.25, 0.0])  # three tenths have a spread of rounding alone
def test_values_without_spread_prove_no_more_than_a_sign_test(value):
    few, enough = ([value] * n for n in (5, 6))
    assert bound(few, "at most", 0.5, ERROR).outcome == "inconclusive"
    assert bound(few, "at most", 0.5, ERROR).seeds_needed == 6
    finding = bound(enough, "at most", 0.5, ERROR)
    assert finding.outcome == "holds"
    assert finding.p_value == 0.5**6
    assert all_of(finding, bound(SEEDS, "at most", 0.5, ERROR)).p_value == 0.5**6


def test_a_flat_curve_has_no_limit_zero():
    assert limit([1, 2, 4, 8], [[0.3] * 4] * 12).outcome == "fails"


@pytest.mark.parametrize("rule", [limit, lambda x, t: one_constant(x, t, "at most", MARGIN)])
def test_three_sizes_that_turn_at_the_end_are_left_open(rule):
    table = [[1.0, 0.1, 0.15], [1.1, 0.1, 0.16], [0.9, 0.1, 0.14]]
    assert rule([1, 2, 4], table).outcome == "inconclusive"


def test_numbers_that_their_unit_cannot_have_are_not_compared():
    assert bound([-0.1, -0.12, -0.11], "at most", 0.2, ERROR).outcome == "inconclusive"
    assert equal([1.5, 1.51, 1.52], 1.5, MARGIN, SHARE).outcome == "inconclusive"


def test_tables_are_one_row_per_seed():
    with pytest.raises(ValueError, match="must have shape"):
        rate([1, 2, 4], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], 0.0, MARGIN)
    assert rate([1, 1, 2], [[1.0, 1.0, 2.0]] * 3, 0.0, MARGIN).outcome == "inconclusive"
