"""Checks of Table 1, of filters and of pictures: what refutes them, and what they cannot tell."""

import math
from dataclasses import replace

import pytest
from judged_images import CHECKS, changed, judged

from karat.papers.purification.checks.image_examples import (
    ALEXNET_RESULT,
    RESNET_CONFIG,
    TABLE1_CONFIG,
    TABLE1_RESULT,
    THETA_RESULT,
    curves,
    participation,
    table1_row,
    tickets,
)
from karat.papers.purification.checks.image_records import HALF_GAIN, LESS
from karat.papers.purification.printed_table1 import ATTACKERS, PRINTED
from karat.study.run import Runs, examples


class TestTable1:
    @pytest.mark.parametrize("mode", PRINTED)
    def test_every_row_is_compared_with_the_print(self, mode):
        higher = replace(TABLE1_RESULT, **{mode: table1_row(mode, robust=0.3)})
        assert judged("tab1", (TABLE1_CONFIG, higher)).outcome == "fails"

    def test_a_cell_that_was_not_measured_leaves_the_table_open(self):
        assert (
            judged("tab1", (TABLE1_CONFIG, replace(TABLE1_RESULT, from_random=None))).outcome
            == "inconclusive"
        )
        others = replace(TABLE1_CONFIG, attackers=("linf:51", "linf:25", "l2:2:0.25", "l2:1:0.12"))
        assert judged("tab1", (others, TABLE1_RESULT)).outcome == "inconclusive"

    def test_the_caveat_tells_all_accuracies_and_certificates(self):
        smoothed = replace(TABLE1_RESULT.clean, certified=[[], [], [], [0.5, 0.4, 0.2]])
        result = replace(TABLE1_RESULT, radii=[0.0, 0.25, 0.5], clean=smoothed)
        caveat = judged("tab1", (TABLE1_CONFIG, result)).caveat
        assert (
            "wrn:34:1 under linf:8: clean 0.000, 0.000 and 0.939, from clean 0.460, 0.460 and 0.737" in caveat
        )
        assert "certified at radius 0.25 for l2:1:0.25: clean 0.40." in caveat

    def test_two_starts_that_learned_nothing_agree_in_vain(self):
        nothing = dict.fromkeys(("from_clean", "from_random"), TABLE1_RESULT.clean)
        assert judged("rem8.1", (TABLE1_CONFIG, replace(TABLE1_RESULT, **nothing))).outcome == "fails"

    def test_made_up_tables_far_from_the_printed_one_fail(self):
        everywhere = dict.fromkeys(PRINTED, self.row(robust=0.05, clean=0.3))
        robust_without_training = {"clean": table1_row("clean", robust=0.3)}
        worse_start = {"from_clean": table1_row("from_clean", robust=-0.25)}
        for sabotage in (everywhere, robust_without_training, worse_start):
            cell = (TABLE1_CONFIG, replace(TABLE1_RESULT, **sabotage))
            assert (
                judged("tab1", cell, seeds=3 if sabotage is robust_without_training else 12).outcome
                == "fails"
            )
            assert judged("rem8.1", cell).outcome == "fails"

    def row(self, *, robust, clean):
        count = len(ATTACKERS)
        return replace(TABLE1_RESULT.clean, accuracy=[clean] * count, attacker=[robust] * count)

    def test_a_printed_zero_needs_all_test_images_and_no_more_seeds(self):
        """Three nets of which no image survives, other cells spread by half a point."""
        runs = []
        for seed, shift in enumerate((-0.005, 0.0, 0.005)):
            rows = {mode: table1_row(mode, robust=shift if mode != "clean" else 0.0) for mode in PRINTED}
            rows = {
                mode: replace(row, accuracy=[value + shift for value in row.accuracy])
                for mode, row in rows.items()
            }
            runs += (
                replace(examples((TABLE1_CONFIG, replace(TABLE1_RESULT, **rows)), seeds=1)[0], seed=seed),
            )
        assert CHECKS["tab1"].evaluate(Runs(runs)).outcome == "holds"
        assert CHECKS["rem8.1"].evaluate(Runs(runs[:2])).outcome == "inconclusive"
        few = [replace(run, config=replace(TABLE1_CONFIG, attacked=1000)) for run in runs]
        assert CHECKS["tab1"].evaluate(Runs(few)).outcome == "inconclusive"


class TestFilters:
    def test_more_clean_training_must_not_smooth_as_much(self):
        rough = ALEXNET_RESULT.filter_roughness | {"continued": [1.0, 1.0]}
        finding = judged("fig1", changed("fig1", filter_roughness=rough))
        assert (finding.outcome, finding.predicted) == ("fails", LESS)

    def test_the_forgotten_start_is_told(self):
        left = replace(ALEXNET_RESULT.leftover_robust, forgotten=0.7)
        caveat = judged("fig1", changed("fig1", leftover_robust=left)).caveat
        assert "70% of the fall is the start being forgotten" in caveat
        nothing = replace(left, forgotten=math.nan)
        assert "there is no fall" in judged("fig1", changed("fig1", leftover_robust=nothing)).caveat

    def test_a_remembered_start_is_no_ticket(self):
        assert judged("fig8", changed("fig8", lottery=tickets(0.9, remembered=0.3))).outcome == "vacuous"

    def test_what_the_untrained_start_spans_as_well_is_vacuous(self):
        trivial = ALEXNET_RESULT.span | {"clean_delta|start": 1e-9}
        assert judged("rem8.2", changed("rem8.2", span=trivial)).outcome == "vacuous"

    def test_what_untrained_filters_of_a_residual_net_span_is_vacuous(self):
        trivial = {"clean_delta|robust": 1e-12, "clean_delta|start": 1e-12}
        assert judged("rem8.2.resnet", changed("rem8.2.resnet", span=trivial)).outcome == "vacuous"

    @pytest.mark.parametrize(
        "changes", [{"image_clean": 100}, {"image_start": 100}, {"robust_delta_robust": 190}]
    )
    def test_all_three_codes_must_be_sparser(self, changes):
        assert judged("fig12", changed("fig12", curves=curves(**changes))).outcome == "fails"

    @pytest.mark.parametrize("item", ["fig4", "fig12"])
    def test_codes_that_do_not_reach_the_error_decide_nothing(self, item):
        assert judged(item, changed(item, curves=curves(image_robust=math.inf))).outcome == "inconclusive"

    def test_what_blurring_alone_gives_is_told(self):
        caveat = judged("fig12", changed("fig12", curves=curves(**{"image_clean blurred": 148}))).caveat
        assert "blurring alone gives 90% of the gain" in caveat


class TestPictures:
    @pytest.mark.parametrize("item", ["fig6", "fig7", "fig10"])
    def test_a_net_that_did_not_become_robust_shows_nothing(self, item):
        finding = judged(item, changed(item, robust=replace(THETA_RESULT.robust, attacker=0.1)))
        assert (finding.outcome, finding.predicted) == ("fails", HALF_GAIN)

    def test_perturbations_must_get_sparser_in_waves_and_in_components(self):
        deltas = {"clean_delta": participation(200.0, 0.3), "robust_delta": participation(100.0, 0.1)}
        assert judged("fig7", changed("fig7", participation=deltas)).outcome == "fails"

    @pytest.mark.parametrize(
        ("item", "network", "background"),
        [
            ("fig5", "wrn:28:10", "grey"),
            ("fig6", "wrn:34:1", "black"),
            ("fig10", "wrn:34:1", "grey"),
        ],
    )
    def test_each_figure_reads_its_own_net_and_colour(self, item, network, background):
        points = [("wrn:34:1", "grey"), ("wrn:34:1", "black"), ("wrn:28:10", "grey")]
        configs = [replace(RESNET_CONFIG, network=net, background=colour) for net, colour in points]
        check = CHECKS[item]
        watched, read = Runs(
            examples(*((config, check.satisfied[0].result) for config in configs), seeds=1)
        ).watched()
        check.evaluate(watched)
        assert read == {points.index((network, background))}
