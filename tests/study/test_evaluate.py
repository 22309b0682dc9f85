"""Verdicts follow the interval over seeds; what cannot be told is inconclusive."""

import math

import pytest

from karat.study.evaluate import (
    curve_finding,
    limit_finding,
    lower_bound_finding,
    rate_finding,
    tight_finding,
    upper_bound_finding,
)

SEEDS = [0.10, 0.11, 0.12]


@pytest.mark.parametrize(
    ("finding", "below", "inside", "above"),
    [
        (upper_bound_finding, "fails", "inconclusive", "holds"),
        (lower_bound_finding, "holds", "inconclusive", "fails"),
        (tight_finding, "fails", "holds", "fails"),
    ],
)
def test_the_verdict_depends_on_where_the_prediction_lies(finding, below, inside, above):
    assert finding(SEEDS, 0.01).verdict == below
    assert finding(SEEDS, 0.112).verdict == inside
    assert finding(SEEDS, 0.50).verdict == above


@pytest.mark.parametrize("finding", [upper_bound_finding, lower_bound_finding, tight_finding])
class TestEveryKind:
    def test_measured_is_the_mean_with_its_student_interval(self, finding):
        found = finding(SEEDS, 0.3)
        assert found.measured == pytest.approx(0.11)
        assert found.interval.high - 0.11 == pytest.approx(4.302653 * 0.01 / math.sqrt(3))

    def test_one_seed_is_inconclusive(self, finding):
        found = finding([0.1], 0.1)
        assert (found.verdict, found.measured, found.interval) == ("inconclusive", 0.1, None)
        assert "One seed" in found.caveat

    def test_one_seed_of_a_deterministic_statement_is_enough(self, finding):
        found = finding([0.1], 0.1, deterministic=True)
        assert (found.verdict, found.measured, found.interval) == ("holds", 0.1, None)

    def test_a_nan_makes_it_inconclusive(self, finding):
        found = finding([0.1, math.nan, 0.12], 0.11)
        assert (found.verdict, found.interval) == ("inconclusive", None)
        assert found.measured == pytest.approx(0.11)
        assert found.caveat == "1 of 3 values are not finite and left out."

    @pytest.mark.parametrize("values", [[], [math.nan], [math.inf, math.nan]])
    def test_no_finite_value_measures_nothing(self, finding, values):
        found = finding(values, 0.1)
        assert (found.verdict, found.measured) == ("inconclusive", None)

    def test_a_formula_without_a_number_is_inconclusive(self, finding):
        assert finding(SEEDS, math.nan).verdict == "inconclusive"

    def test_the_level_widens_the_interval(self, finding):
        assert finding(SEEDS, 0.3, 0.99).interval.low < finding(SEEDS, 0.3, 0.9).interval.low


def test_seeds_that_agree_exactly_meet_a_bound_of_their_own_value():
    assert upper_bound_finding([0.0, 0.0, 0.0], 0.0).verdict == "holds"
    assert lower_bound_finding([1.0, 1.0], 1.0).verdict == "holds"


def test_a_deterministic_bound_is_judged_by_its_worst_value():
    assert upper_bound_finding([0.1, 0.3], 0.2, deterministic=True).verdict == "fails"
    assert lower_bound_finding([0.1, 0.3], 0.2, deterministic=True).verdict == "fails"
    found = tight_finding([0.2, 0.2 + 1e-6], 0.2, deterministic=True)
    assert (found.verdict, found.measured) == ("fails", 0.2 + 1e-6)
    assert tight_finding([0.2 + 1e-13], 0.2, deterministic=True).verdict == "holds"


def test_a_wide_interval_is_no_proof_of_equality():
    assert tight_finding([0.0, 1.0], 0.4).verdict == "holds"
    assert tight_finding([0.0, 1.0], 0.4, resolution=0.1).verdict == "inconclusive"
    assert tight_finding([0.0, 1.0], 90.0, resolution=0.1).verdict == "fails"


def test_rates_are_judged_by_the_slope_over_seeds():
    grid = [100, 200, 400, 800]
    noise = [1.02, 0.99, 1.01]
    curves = [[factor * d**-0.5 * (1 + 0.01 * (d > 200)) for d in grid] for factor in noise]
    curves[1] = [value * (1 + 0.02 * (i % 2)) for i, value in enumerate(curves[1])]
    found = rate_finding(grid, curves, -0.5)
    assert found.verdict == "holds"
    assert found.measured == pytest.approx(-0.5, abs=0.02)
    assert rate_finding(grid, curves, -1.0).verdict == "fails"
    assert rate_finding(grid, curves, -0.3, side="at most").verdict == "holds"
    assert rate_finding(grid, curves, -0.3, side="at least").verdict == "fails"


def test_a_rate_of_one_seed_uses_the_interval_of_the_fit():
    found = rate_finding([1, 2, 4, 8], [[1.0, 0.52, 0.24, 0.125]], -1.0)
    assert found.verdict == "holds"
    assert found.interval is not None
    assert "interval is that of the fit" in found.caveat


@pytest.mark.parametrize(
    ("x", "curves"),
    [
        ([1, 2], [[1.0, 0.5]]),
        ([1, 2, 4], []),
        ([1, 2, 4], [[1.0, 0.0, 0.2]]),
        ([1, 2, 4], [[1.0, math.nan, 0.2], [1.0, 0.5, 0.25]]),
    ],
)
def test_a_rate_that_cannot_be_fitted_is_inconclusive(x, curves):
    found = rate_finding(x, curves, -1.0)
    assert (found.verdict, found.measured) == ("inconclusive", None)
    assert found.caveat


class TestCurves:
    X = (1.0, 2.0, 3.0)
    CURVES = ((0.10, 0.20, 0.30), (0.11, 0.21, 0.31), (0.12, 0.22, 0.32))

    @pytest.mark.parametrize(
        ("side", "predicted", "verdict", "decided"),
        [
            ("at most", (0.5, 0.5, 0.5), "holds", 0.31),
            ("at most", (0.5, 0.01, 0.5), "fails", 0.21),
            ("at most", (0.5, 0.215, 0.5), "inconclusive", 0.21),
            ("at least", (0.0, 0.0, 0.0), "holds", 0.11),
            ("at least", (0.0, 0.9, 0.0), "fails", 0.21),
            ("equal", (0.11, 0.21, 0.31), "holds", None),
            ("equal", (0.11, 0.21, 0.91), "fails", 0.31),
        ],
    )
    def test_the_worst_point_decides(self, side, predicted, verdict, decided):
        finding = curve_finding(self.X, self.CURVES, predicted, side=side)
        assert finding.verdict == verdict
        assert decided is None or finding.measured == pytest.approx(decided)
        assert finding.curve.predicted == predicted

    def test_a_wide_band_proves_no_equality(self):
        wide = ((0.0, 0.1), (0.2, 0.3), (0.4, 0.5))
        finding = curve_finding((1, 2), wide, (0.2, 0.3), resolution=0.01)
        assert finding.verdict == "inconclusive"

    def test_one_seed_is_inconclusive(self):
        assert curve_finding(self.X, self.CURVES[:1], self.X).verdict == "inconclusive"


def test_a_quantity_that_stays_does_not_vanish():
    steady = [[0.5, 0.5, 0.5], [0.51, 0.5, 0.5], [0.49, 0.5, 0.51]]
    assert limit_finding([10, 100, 1000], steady).verdict == "inconclusive"
    falling = [[1.0, 0.1, 0.01], [1.1, 0.1, 0.01], [1.0, 0.11, 0.01]]
    assert limit_finding([10, 100, 1000], falling).verdict == "holds"
    assert limit_finding([10, 100], [row[:2] for row in falling]).verdict == "inconclusive"
