"""What counts as independent, and as settled: shared seeds, points of few nets, curves that slow down."""

import math

import numpy as np
import pytest
from scipy import stats

from karat.study.finding import ERROR, EXPONENT, RATIO
from karat.study.judging import all_of, bound, certified, curve, limit, share, share_of_points
from karat.study.judging.common import Evidence, judged_on
from karat.study.judging.sizes import settles_at

SEEDS = [0.10, 0.11, 0.12]


def correlated(generator, settings, seeds, rho):
    """Values (settings * seeds,) of mean zero whose settings share a part of each seed's draw."""
    own = generator.normal(size=(settings, seeds))
    return (math.sqrt(rho) * generator.normal(size=seeds) + math.sqrt(1 - rho) * own).reshape(-1)


@pytest.mark.parametrize("rho", [0.5, 0.9, 1.0])
def test_settings_that_share_draws_are_not_taken_for_seeds(rho):
    """At the edge itself 5 % may be decided; values as if independent decide a third at rho = .9."""
    generator = np.random.default_rng(3)
    tables = [correlated(generator, 4, 5, rho) for _ in range(1000)]
    with judged_on(Evidence(seeds=5)):
        decided = sum(bound(values, "at most", 0.0, RATIO).outcome != "inconclusive" for values in tables)
    naive = sum(bound(values, "at most", 0.0, RATIO).outcome != "inconclusive" for values in tables)
    assert decided <= stats.binom.isf(1e-6, 1000, 0.05)
    assert naive > stats.binom.isf(1e-6, 1000, 0.05)


def test_one_value_per_seed_is_judged_as_before():
    expected = bound(SEEDS, "at most", 0.2, ERROR)
    with judged_on(Evidence(seeds=3)):
        assert bound(SEEDS, "at most", 0.2, ERROR) == expected
        shared = bound([*SEEDS, *SEEDS], "at most", 0.2, ERROR)
    assert shared.interval.high == pytest.approx(expected.interval.high, abs=0.01)
    assert "6 values share 3 seeds" in shared.trace[0]


@pytest.mark.parametrize("spread", [0.02, 0.05, 0.1])
def test_points_of_a_few_nets_are_not_independent_draws(spread):
    """Nets whose true shares scatter about the edge: 5 % may be decided, pooled points decide up to 70 %."""
    generator = np.random.default_rng(4)
    decided = pooled = 0
    for _ in range(600):
        nets = np.clip(generator.normal(0.75, spread, 3), 0, 1)
        right = generator.binomial(600, nets)
        decided += share_of_points(right / 600, 600, "at least", 0.75).outcome != "inconclusive"
        pooled += share(int(right.sum()), 1800, "at least", 0.75).outcome != "inconclusive"
    assert decided <= stats.binom.isf(1e-6, 600, 0.05)
    assert pooled > stats.binom.isf(1e-6, 600, 0.05)


def test_nets_that_agree_differ_as_much_as_their_points_allow():
    agreed, nearly = (share_of_points([1.0, 1.0, last], 200, "at least", 0.9) for last in (1.0, 0.995))
    assert (agreed.outcome, nearly.outcome) == ("holds", "holds")
    assert 0 < agreed.p_value < 0.025
    assert share_of_points([1.0] * 3, 2, "at least", 0.9).outcome == "inconclusive"
    assert share_of_points([1.0] * 2, 200, "at least", 0.9).outcome == "inconclusive"
    assert share_of_points([math.nan] * 3, 200, "at least", 0.9).notes


def test_a_curve_that_settles_is_no_limit_zero():
    x = np.array([10.0, 100.0, 1000.0])
    noise = 1 + 0.02 * np.random.default_rng(5).normal(size=(3, 3))
    for curve_of_x in (0.5 + 1 / x, 0.1 + x**-0.5):
        finding = limit(x, curve_of_x * noise)
        assert finding.outcome == "inconclusive"
    assert "settled" in finding.caveat
    assert limit(x, x**-0.1 * noise).outcome == "holds"
    assert settles_at(x, 0.1 + x**-0.5) == pytest.approx(0.1 / (0.1 + 1000**-0.5))
    assert settles_at([10, 50, 100, 1000], np.array([10, 50, 100, 1000]) ** -0.3) == pytest.approx(
        0, abs=1e-9
    )
    assert settles_at(x, [1.0, 0.9, 0.1]) == 0.0


def test_an_attack_beyond_the_certificate_of_one_seed_is_seen():
    finding = certified([0.20, 0.01, 0.02], [0.10, 0.11, 0.12], 0.5, ERROR)
    assert finding.outcome == "inconclusive"
    assert "beyond the certificate" in finding.caveat


@pytest.mark.parametrize("attacked", [[], [math.nan] * 3])
def test_a_certificate_without_an_attack_beside_it_decides_nothing(attacked):
    assert certified(attacked, [0.1, 0.11, 0.12], 0.5, ERROR).outcome == "inconclusive"


def test_equal_curves_of_few_seeds_decide_nothing():
    assert curve([1, 2], [[0.1, 0.1]] * 3, [0.5, 0.5], "at most", ERROR).outcome == "inconclusive"
    assert curve([1, 2], [[0.1, 0.1]] * 8, [0.5, 0.5], "at most", ERROR).outcome == "holds"
    assert "cannot be" in curve([1, 2], [[0.1, 1.2]] * 8, [0.5, 0.5], "at most", ERROR).caveat


def test_of_open_parts_the_one_that_leans_to_fail_is_shown():
    holds, leans = (bound([value] * 2, "at most", 0.5, ERROR) for value in (0.1, 0.9))
    assert all_of(holds, leans).measured == 0.9


def test_all_parts_must_be_settled():
    near, far = (bound([edge, edge + 0.1, edge + 0.2], "at most", 0.5, ERROR) for edge in (0.39, 0.3))
    assert near.seeds_needed > far.seeds_needed
    for parts in ((near, far), (far, near)):
        assert all_of(*parts).seeds_needed == near.seeds_needed


def test_a_part_that_fails_alone_but_not_among_all_is_named():
    weak = bound([0.60, 0.62, 0.64], "at most", 0.56, ERROR)
    assert weak.outcome == "fails"
    assert "alone" in all_of(weak, *[bound(SEEDS, "at most", 0.5, ERROR)] * 9).caveat


def test_seeds_that_repeat_each_other_count_as_themselves():
    values = [0.10, 0.12, 0.20]
    with judged_on(Evidence(seeds=3)):
        repeated = bound(values * 5, "at most", 0.5, RATIO)
    assert repeated.p_value == pytest.approx(bound(values, "at most", 0.5, RATIO).p_value)
    assert repeated.interval.low == pytest.approx(bound(values, "at most", 0.5, RATIO).interval.low)


def test_a_limit_does_not_depend_on_the_order_of_its_sizes():
    x, y = np.array([10.0, 100.0, 1000.0]), np.array([[0.6, 0.51, 0.501], [0.61, 0.512, 0.502]] * 3)
    shuffled = [2, 0, 1]
    for order in (slice(None), slice(None, None, -1), shuffled):
        assert limit(x[order], y[:, order]).outcome == "inconclusive"
    assert limit([10, 20, 40, 40], [[4, 3, 2, 2]] * 6).outcome == "inconclusive"


def test_exponents_of_attack_and_certificate_may_lie_in_any_order():
    slopes = ([0.26, 0.27, 0.25], [0.13, 0.12, 0.14])
    assert certified(*slopes, 0.5, EXPONENT).outcome == "inconclusive"
    assert certified(*slopes, 0.5, EXPONENT, ordered=False).outcome == "holds"


def test_a_seed_without_a_certificate_leaves_the_worst_case_open():
    finding = certified([0.1, 0.11, 0.12], [0.2, 0.21], 0.5, ERROR)
    assert finding.outcome == "inconclusive"
    assert "2 of 3 seeds" in finding.caveat


def test_a_point_of_a_curve_that_fails_clearly_refutes_it():
    table = [[0.9, 0.300], [0.9, 0.301], [0.9, 0.302]]
    assert curve([1, 2], table, [0.1, 0.21], "at most", ERROR).outcome == "fails"
    with judged_on(Evidence(seeds=3)):
        assert curve([1, 2], table * 3, [0.1, 0.21], "at most", ERROR).outcome == "inconclusive"


def test_a_hopeless_part_is_not_settled_by_the_seeds_of_another():
    open_part = bound([0.39, 0.49, 0.59], "at most", 0.5, ERROR)
    hopeless = bound([math.nan] * 3, "at most", 0.5, ERROR)
    assert all_of(open_part, open_part).seeds_needed == open_part.seeds_needed
    assert all_of(open_part, hopeless).seeds_needed is None


def test_one_part_alone_is_judged_as_itself():
    with judged_on(Evidence(added=True)):
        finding = bound([0.60, 0.62, 0.64, 0.61, 0.63], "at most", 0.57, ERROR)
        assert all_of(finding).outcome == finding.outcome
