"""Special paths of lazy's checks: undecided, vacuous, refuted by an attack, shown by a certificate."""

import math
from dataclasses import replace

import pytest

from karat.papers.lazy.checks import adversarial, corollary, flip_length, movement, on_images
from karat.papers.lazy.checks.made_up import (
    flip_runs,
    one_point_cell,
    steps_cells,
    trained_cell,
    worst_cell,
)
from karat.papers.lazy.checks.single_step import step_cell
from karat.papers.lazy.experiments.adversarial_training import AdversarialTrainingConfig
from karat.papers.lazy.experiments.every_net import EveryNetConfig, EveryNetResult
from karat.papers.lazy.experiments.every_step import EveryStepConfig, EveryStepResult
from karat.papers.lazy.experiments.gradient_size import GradientSizeConfig, GradientSizeResult
from karat.papers.lazy.experiments.worst import WorstConfig
from karat.study.judging import Undecided
from karat.study.registry import PAPERS
from karat.study.run import examples

CHECKS = PAPERS["lazy"].checks


def outcome(name, runs):
    return CHECKS[f"lazy.{name}"].evaluate(runs).outcome


@pytest.mark.parametrize("name", CHECKS)
def test_examples_are_judged_as_they_are_meant(name):
    check = CHECKS[name]
    if check.satisfied:
        assert check.evaluate(check.satisfied).outcome in ("holds", "vacuous")
    assert check.evaluate(check.violated).outcome == "fails"
    assert check.controls


@pytest.mark.parametrize("name", CHECKS)
def test_settings_of_controls_are_known(name):
    settings = vars(next(iter(CHECKS[name].experiment.presets.values())).config)
    for control in CHECKS[name].controls:
        assert set(control.settings) <= set(settings)


def trained(accuracy, **settings):
    return trained_cell(AdversarialTrainingConfig(**settings), accuracy=accuracy)


class TestCorollary:
    @staticmethod
    def runs(*constants, C0=(1.0, 10.0), robust=False):
        cells = []
        for d, c in zip((324, 400, 784), constants, strict=True):
            config = EveryNetConfig(d=d, m=math.ceil(d**2.4), C0=C0, draws=100)
            radius = [[c / math.sqrt(d)] * 100, [math.inf] * 100]
            answers = [[False] * 100, [robust] * 100]
            cells.append((config, EveryNetResult(radius=radius[: len(C0)], robust=answers[: len(C0)])))
        return examples(*cells)

    def test_one_constant_must_do_for_all_dimensions(self):
        assert outcome("cor3.2", self.runs(3.9, 3.9, 3.9)) == "holds"
        with pytest.raises(Undecided, match="no robust net is known"):
            outcome("cor3.2", self.runs(3.9, 3.9, 4.1))

    def test_only_a_robust_net_refutes_it(self):
        with pytest.raises(Undecided, match="no robust net is known"):
            outcome("cor3.2.figures.every", self.runs(3.9, 3.9, 3.9))
        assert outcome("cor3.2.figures.every", self.runs(3.9, 3.9, 3.9, robust=True)) == "fails"

    def test_the_largest_ball_needs_large_dimensions(self):
        result = EveryNetResult(radius=[[0.1], [0.1]], robust=[[False], [False]])
        small = examples((EveryNetConfig(d=64, m=21_619, draws=1), result))
        with pytest.raises(Undecided, match="no dimension is as large as 3 C0"):
            outcome("cor3.2.figures.every", small)

    @pytest.mark.parametrize(
        ("name", "d", "C0", "unmet"),
        [
            ("cor3.2", 324, (1.0, 10.0), 0),
            ("cor3.2", 324, (10.0,), 1),
            ("cor3.2", 324, (math.inf,), 1),
            ("cor3.2.figures.every", 324, (10.0,), 0),
            ("cor3.2.figures.every", 196, (10.0,), 1),
            ("cor3.2.figures.every", 400, (30.0,), 2),
        ],
    )
    def test_each_constant_is_for_its_ball(self, name, d, C0, unmet):
        config = EveryNetConfig(d=d, m=math.ceil(d**2.4), C0=C0)
        statuses = [condition.status for condition in CHECKS[f"lazy.{name}"].conditions(config)]
        assert statuses.count("unmet") == unmet

    def test_its_width_is_a_hypothesis(self):
        statuses = {
            m: [condition.status for condition in CHECKS["lazy.cor3.2"].conditions(EveryNetConfig(d=25, m=m))]
            for m in (2000, 2300)
        }
        assert statuses == {
            m: [first, *["not checkable"] * 2, "met"] for m, first in ((2000, "unmet"), (2300, "met"))
        }

    def test_an_error_that_was_not_enclosed_is_no_number(self):
        (run,) = examples(trained(0.5, side=14), seeds=1)
        with pytest.raises(Undecided, match="`certified` is 0"):
            corollary.enclosure(run)


class TestTheorem:
    @staticmethod
    def runs(flags):
        cells = []
        for d in (25, 36, 64):
            config = WorstConfig(d=d, m=math.ceil(d**2.4), C0=1.0, points=len(flags))
            _, result = worst_cell(config, worst=0.1)
            cells.append((config, replace(result, flipped=list(flags))))
        return examples(*cells, seeds=5)

    def test_nets_that_do_not_flip_count_against_it(self):
        assert outcome("thm3.1.adversary", self.runs([True] * 12)) == "holds"
        assert outcome("thm3.1.adversary", self.runs([True] * 8 + [False] * 4)) == "fails"

    @staticmethod
    def steps(missing, refuted):
        cells = []
        for d in (324, 400, 784):
            certified, against = ([i < count for i in range(20)] for count in (20 - missing, refuted))
            result = EveryStepResult(certified=certified, refuted=against, gradient=[10.0] * 20)
            cells.append((EveryStepConfig(d=d, m=math.ceil(d**2.4)), result))
        return examples(*cells, seeds=4)

    def test_only_certificates_show_it_and_only_nets_refute_it(self):
        assert outcome("thm3.1", self.steps(0, 0)) == "holds"
        assert outcome("thm3.1", self.steps(2, 0)) == "inconclusive"
        assert outcome("thm3.1", self.steps(8, 8)) == "fails"
        with pytest.raises(Undecided, match="48 of 80 draws have a certificate"):
            outcome("thm3.1", self.steps(8, 0))

    @pytest.mark.parametrize("factor", [0.1, 10.0])
    def test_its_constant_is_sharp_on_both_sides(self, factor):
        config = WorstConfig(d=784, m=1600, C0=1.0)
        assert (
            outcome("thm3.1.constant", examples(worst_cell(config, worst=0.05 * factor, sharp=0.05)))
            == "fails"
        )

    def test_only_small_balls_have_a_sharp_constant(self):
        config = WorstConfig(d=25, m=1600, C0=10.0)
        with pytest.raises(Undecided, match="no run has C0"):
            outcome("thm3.1.constant", examples(worst_cell(config, worst=0.05)))


class TestSmallestGradient:
    @staticmethod
    def cell(smallest, floor, **settings):
        config = GradientSizeConfig(**({"d": 784, "m": 8_838_093, "C0": 1.0} | settings))
        return config, GradientSizeResult(
            at_start=[smallest + 0.8 * config.C0] * 4, smallest=[smallest] * 4, floor=[floor] * 40
        )

    @pytest.mark.parametrize(
        ("smallest", "floor", "expected"),
        [
            (15.0, 14.0, "holds"),
            (15.0, 1.0, "inconclusive"),
            (15.0, 0.0, "inconclusive"),
            (0.0, 0.0, "fails"),
        ],
    )
    def test_adversaries_refute_and_certificates_show(self, smallest, floor, expected):
        assert outcome("lemB.7", examples(self.cell(smallest, floor))) == expected

    @pytest.mark.parametrize(("below", "expected"), [(0, "holds"), (10, "holds"), (40, "inconclusive")])
    def test_only_a_share_of_the_draws_must_have_a_certificate(self, below, expected):
        config, result = self.cell(15.0, 14.0)
        floors = [1.0] * below + [14.0] * (400 - below)
        runs = examples((config, replace(result, smallest=[15.0] * 4, floor=floors)))
        assert outcome("lem4.2.repaired", runs) == expected

    @pytest.mark.parametrize("taken", [0.0, 2.0])
    def test_a_ball_that_takes_nothing_or_too_much_is_none(self, taken):
        config, result = self.cell(15.0, 14.0)
        runs = examples((config, replace(result, at_start=[15.0 + taken] * 4)))
        for name in ("lem4.2.repaired", "lemB.7"):
            assert outcome(name, runs) == "fails"

    def test_a_negative_lower_bound_is_vacuous(self):
        assert outcome("lemB.7", examples(self.cell(3.0, 2.0, d=25, m=2265))) == "vacuous"

    def test_the_widest_net_decides_about_the_printed_lemma(self):
        cells = [
            self.cell(smallest, smallest / 2, d=25, m=m, C0=10.0)
            for m, smallest in ((1000, 3.0), (100_000, 0.5))
        ]
        assert outcome("lem4.2", examples(*cells)) == "fails"

    def test_the_ball_of_the_figures_is_judged_at_its_largest_dimension(self):
        cells = [self.cell(0.0, 0.0, d=25, C0=10.0), self.cell(12.0, 10.0, C0=10.0), self.cell(0.0, 0.0)]
        assert outcome("lem4.2.figures", examples(*cells)) == "holds"


class TestFlips:
    def test_nets_that_stayed_inside_their_ball_show_no_power(self):
        runs = [
            replace(run, result=replace(run.result, left=[False, False]))
            for run in CHECKS["lazy.fig5"].satisfied
        ]
        for name in ("fig2", "fig3", "fig5", "fig6", "sec3.data", "sec5.1.growth"):
            with pytest.raises(Undecided, match=r"leave the ball|left two balls"):
                outcome(name, runs)

    def test_one_net_breaks_the_sentence_on_the_test_error(self):
        first, *others = CHECKS["lazy.sec5.1.error"].satisfied
        bad = replace(first, result=replace(first.result, test_error=[0.05, 0.0]))
        assert outcome("sec5.1.error", [bad, *others]) == "fails"

    def test_gradient_and_step_must_both_grow(self):
        runs = [
            replace(run, result=replace(run.result, step=run.result.step[::-1]))
            for run in CHECKS["lazy.sec5.1.growth"].satisfied
        ]
        assert outcome("sec5.1.growth", runs) == "fails"

    def test_the_ball_of_the_figures_is_used_where_it_was_run(self):
        assert flip_length.figure_ball([5.0, 10.0, 20.0]) == 10.0
        assert flip_length.figure_ball([1.0, 2.0]) == 1.0


class TestAdversarialTraining:
    def test_a_step_function_at_the_printed_movement_is_the_papers_sentence(self):
        balls = {8.0: 0.0, 15.0: 0.0, 20.0: 0.0, 27.5: 1.0, 40.0: 1.0}
        cells = [trained(accuracy, side=28, C0=C0) for C0, accuracy in balls.items()]
        assert outcome("fig4.edge", examples(*cells)) == "holds"
        with pytest.raises(Undecided, match="slightly above 25"):
            outcome("fig4.edge", examples(*cells[:2]))

    def test_training_that_was_cut_short_is_seen(self):
        (run,) = examples(trained(0.9, side=28), seeds=1)
        cut = replace(run, result=replace(run.result, epochs=run.config.epochs))
        assert [movement._stopped(one)[0].status for one in (run, cut)] == ["met", "unmet"]

    @pytest.mark.parametrize(("middle", "expected"), [(5.0, "holds"), (2.0, "fails"), (8.0, "fails")])
    def test_the_printed_radius_is_read_on_both_sides(self, middle, expected):
        assert outcome("fig4.constant", adversarial._falling(lambda side: middle)) == expected

    def test_a_slow_drop_is_not_sharp(self):
        drop = {0.4: 1.0, 0.6: 0.8, 1.0: 0.5, 1.5: 0.05, 1.8: 0.0}
        cells = [
            trained(accuracy, side=side, c=5.0 * at) for side in (14, 20, 28) for at, accuracy in drop.items()
        ]
        assert outcome("fig4.constant", examples(*cells)) == "fails"

    def test_robustness_that_falls_in_a_larger_ball_is_no_increase(self):
        cells = [
            trained(accuracy, side=28, C0=C0) for C0, accuracy in {8.0: 0.0, 15.0: 0.6, 27.5: 0.3}.items()
        ]
        assert outcome("sec3.movement", examples(*cells)) == "fails"
        with pytest.raises(Undecided, match="one ball"):
            outcome("sec3.movement", examples(cells[0]))

    def test_a_slow_fall_before_a_rise_is_no_increase(self):
        accuracies = {8.0: 0.5, 15.0: 0.46, 20.0: 0.42, 27.5: 0.6}
        cells = [trained(accuracy, side=28, C0=C0) for C0, accuracy in accuracies.items()]
        assert outcome("sec3.movement", examples(*cells)) == "fails"

    def test_nets_that_are_wrong_without_any_attack_show_no_corollary(self):
        config, result = trained(0.02, side=28, c=7.1)
        assert outcome("cor3.2.figures", examples((config, result))) == "holds"
        with pytest.raises(Undecided, match="wrong without any attack"):
            outcome("cor3.2.figures", examples((config, replace(result, clean_accuracy=0.5))))

    def test_a_projection_that_costs_accuracy_in_one_dimension_hurts(self):
        cells = []
        for side, accuracy in ((10, 0.99), (28, 0.93)):
            for C0 in (10.0, math.inf):
                config, result = trained(0.5, side=side, C0=C0)
                clean = accuracy if C0 == 10 else 0.99
                cells.append((config, replace(result, clean_accuracy=clean)))
        assert outcome("sec5.2.projection", examples(*cells[:2])) == "holds"
        assert outcome("sec5.2.projection", examples(*cells)) == "fails"
        with pytest.raises(Undecided, match="nothing is compared"):
            outcome("sec5.2.projection", examples(cells[0]))
        useless = [(config, replace(result, clean_accuracy=0.5)) for config, result in cells]
        with pytest.raises(Undecided, match="without projection clean accuracy is only"):
            outcome("sec5.2.projection", examples(cells[0], useless[1]))

    def test_no_robustness_with_and_without_the_ball_is_no_success(self):
        cells = [trained(0.0, side=28, C0=C0) for C0 in (10.0, math.inf)]
        assert outcome("sec5.2.beyond", examples(*cells)) == "fails"
        with pytest.raises(Undecided, match="none inside the ball"):
            outcome("sec5.2.beyond", examples(cells[1]))

    def test_readings_of_the_algorithm_are_compared_among_robust_nets(self):
        cells = [trained(0.0, side=10, line4=line4) for line4 in ("iterated", "printed")]
        assert outcome("alg1.line4", examples(*cells)) == "fails"


class TestLemmas:
    @pytest.mark.parametrize("name", ["lem4.1", "lemB.5"])
    def test_a_supremum_without_movement_is_none(self, name):
        assert outcome(name, examples(one_point_cell(supremum=0.5))) == "fails"

    @pytest.mark.parametrize("name", ["lem4.3", "lemB.4.fixed"])
    def test_too_few_neurons_are_as_suspicious_as_too_many(self, name):
        assert outcome(name, examples(one_point_cell(can_switch=2))) == "fails"

    def test_the_second_half_of_the_lemma_on_switches_can_break_it_alone(self):
        assert outcome("lemB.4", examples(one_point_cell(nearby=900))) == "fails"

    def test_bounds_beyond_the_gradient_are_vacuous(self):
        assert outcome("lemB.8", examples(one_point_cell())) == "vacuous"
        assert outcome("lemB.9", CHECKS["lazy.lem4.4"].satisfied) == "vacuous"

    def test_an_ascent_alone_never_shows_that_gradients_hardly_change(self):
        runs = [
            replace(run, result=replace(run.result, ceiling=run.config.d**0.9))
            for run in CHECKS["lazy.lem4.4"].satisfied
        ]
        assert outcome("lem4.4", runs) == "inconclusive"

    def test_one_radius_says_nothing_about_larger_ones(self):
        runs = [run for run in CHECKS["lazy.sec3.radius"].satisfied if run.config.power == 0.5]
        with pytest.raises(Undecided, match="one radius"):
            outcome("sec3.radius", runs)

    def test_a_certificate_that_applies_nowhere_is_no_verdict(self):
        with pytest.raises(Undecided, match="applied nowhere"):
            outcome("proof3.1", examples(step_cell(math.nan)))


class TestHistograms:
    @pytest.mark.parametrize("kurtosis", [-1.28, -0.96])
    def test_two_humps_are_no_bell(self, kurtosis):
        runs = flip_runs()
        for run in runs:  # two humps of width one that are 4 and 3 apart: the moments of that mixture
            for shapes in run.result.histograms:
                for quantity, shape in shapes.items():
                    shapes[quantity] = replace(shape, kurtosis=kurtosis)
        assert outcome("fig7.bell", runs) == "fails"

    def test_bimodality_of_known_shapes(self):
        (run, *_) = flip_runs()
        shape = run.result.histograms[0]["step"]
        known = {0.0: 1 / 3, -1.2: 5 / 9, -2.0: 1.0}
        assert {k: on_images.bimodality(replace(shape, kurtosis=k)) for k in known} == pytest.approx(known)

    def test_shape_and_place_of_the_step_are_two_claims(self):
        assert outcome("fig7", flip_runs(step=0.045 * 784, skewness=2.0)) == "holds"
        assert outcome("fig7.bell", flip_runs(step=1.0)) == "holds"


class TestCountsOfNeurons:
    @pytest.mark.parametrize(("name", "count"), [("lemB.6", "sign_changes"), ("lemB.6.switch", "switches")])
    def test_none_and_too_few_are_no_chance(self, name, count):
        usual = getattr(one_point_cell()[1], count)
        for number in (0, usual // 3):
            assert outcome(name, examples(one_point_cell(**{count: number}))) == "fails"


class TestProofSteps:
    def test_one_size_at_which_a_hypothesis_is_missing_shows_that_it_is(self):
        assert (
            outcome("proofB.9.dimension", steps_cells(dimension=lambda d: 1.5 if d == 400 else 0.5))
            == "holds"
        )

    def test_a_number_from_above_refutes_nothing_and_one_from_below_shows_nothing(self):
        for name, value in (("", "subsets"), (".repaired", "subsets_repaired")):
            cells = steps_cells(**{f"{value}_ceiling": lambda d: [1.2] * 20})
            assert outcome(f"proofB.9.subsets{name}", cells) == "inconclusive"

    @pytest.mark.parametrize(
        ("name", "value", "bad"),
        [
            ("proofB.8.rows", "all_rows", 0.5),
            ("proofB.8.rows.repaired", "all_rows_repaired", 0.5),
            ("proofB.9.width", "width", 1.5),
            ("proofB.9.width.repaired", "width_repaired", 1.5),
            ("proofB.9.subsets", "subsets", [1.5] * 60),
            ("proofB.9.subsets.repaired", "subsets_repaired", [1.5] * 60),
            ("proofB.9.dimension.repaired", "last_line", 1.5),
            ("sec4.step", "sketch", 0.5),
            ("sec4.step.repaired", "sketch_repaired", 0.5),
            ("proof3.1.printed", "landing", 1.0),
        ],
    )
    def test_one_size_at_which_a_step_is_false_refutes_it(self, name, value, bad):
        good = getattr(steps_cells()[0].result, value)
        assert outcome(name, steps_cells(**{value: lambda d: bad if d == 784 else good})) == "fails"
