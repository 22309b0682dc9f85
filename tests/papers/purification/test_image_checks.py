"""Checks of image experiments: whose runs they read, what they ask for, and what they cannot tell."""

import math
from dataclasses import replace

import pytest

from karat.nets.networks import network_size
from karat.papers.purification.checks import (
    angles,
    filters,
    four_attackers,
    frozen_layers,
    images,
    paper_nets,
    pictures,
    resnet_span,
)
from karat.papers.purification.checks.image_examples import (
    ALEXNET_RESULT,
    FREEZING_CONFIG,
    FREEZING_RESULT,
    RESNET_CONFIG,
    TABLE1_CONFIG,
    TABLE1_RESULT,
    THETA_CONFIG,
    THETA_RESULT,
    curves,
    layer_features,
    participation,
    score_lists,
    table1_row,
    tickets,
)
from karat.papers.purification.checks.image_records import HALF_GAIN, LESS
from karat.papers.purification.experiments.freezing import LAYER_27
from karat.papers.purification.experiments.image_setting import Scores
from karat.papers.purification.printed_table1 import ATTACKERS, PRINTED
from karat.study.experiment import cells as planned
from karat.study.hypothesis import ledger_of
from karat.study.judging import Undecided
from karat.study.plan import control_cells
from karat.study.run import Runs, examples

MODULES = (angles, filters, four_attackers, frozen_layers, images, pictures, resnet_span)
CHECKS = {check.claim_id.partition(".")[2]: check for module in MODULES for check in module.CHECKS}


def judged(item, *cells, seeds=12):
    return CHECKS[item].evaluate(Runs(examples(*cells, seeds=seeds)))


def changed(item, **values):
    """The satisfying example with other values."""
    run = CHECKS[item].satisfied[0]
    return run.config, replace(run.result, **values)


def unmet(item, *cells):
    ledger = ledger_of(CHECKS[item], examples(*cells))
    return {entry.condition.name for entry in ledger if entry.status == "unmet"}


@pytest.mark.parametrize("item", CHECKS)
def test_the_examples_stand_at_the_papers_own_settings(item):
    at_full = CHECKS[item].satisfied[0]
    cells = (at_full.config, at_full.result)
    if item == "fig5":
        cells = (replace(at_full.config, network="wrn:28:10"), at_full.result)
    if item == "fig6":
        cells = (replace(at_full.config, background="black"), at_full.result)
    assert unmet(item, cells) == set()


@pytest.mark.parametrize("item", CHECKS)
def test_photographs_the_net_and_all_of_its_images_are_asked_for(item):
    run = CHECKS[item].satisfied[0]
    config = replace(run.config, source="digits", network="alexnet:0.25")
    missing = unmet(item, (config, replace(run.result, trained_on=5000)))
    assert {"Sec 8: CIFAR-10", "Sec 8: all training images of CIFAR-10"} <= missing
    assert any(name.startswith(("Sec 8: AlexNet", "Sec 8: ResNet-34", "Fig 5: WRN")) for name in missing)


@pytest.mark.parametrize("item", CHECKS)
def test_without_a_run_nothing_is_decided(item):
    with pytest.raises(Undecided, match="no finished run"):
        CHECKS[item].evaluate(Runs())


@pytest.mark.parametrize("item", CHECKS)
def test_a_control_is_one_tiny_cell_at_every_scale(item):
    check = CHECKS[item]
    for control in check.controls:
        keys = {scale: [cell.key for cell in control_cells(check, control, scale)] for scale in check.scales}
        assert len(keys["tiny"]) == 1
        assert keys["tiny"] == keys["quick"] == keys["full"]


@pytest.mark.parametrize("item", ["fig1", "fig4", "fig8", "fig12", "rem8.2"])
def test_only_runs_at_the_papers_rates_are_read_where_there_are_some(item):
    check = CHECKS[item]
    good, bad = check.satisfied[0], check.violated[0]
    other = replace(bad.config, lr=0.1, weight_decay=5e-3)
    watched, read = Runs(examples((good.config, good.result), (other, bad.result))).watched()
    assert check.evaluate(watched).outcome == "holds"
    assert read == set(range(12))
    assert judged(item, (other, bad.result)).outcome == "fails"
    assert any("rate 0.02" in name for name in unmet(item, (other, bad.result)))


class TestAngles:
    @pytest.mark.parametrize(
        "clause", ["start_clean_small", "start_robust_small", "clean_robust_large", "pairs_small"]
    )
    def test_every_clause_counts_at_every_layer(self, clause):
        assert (
            judged("fig2", (THETA_CONFIG, replace(THETA_RESULT, **{clause: [0.9, 0.4]}))).outcome == "fails"
        )

    def test_filters_that_stay_because_nothing_was_learned_do_not_count(self):
        still = replace(THETA_RESULT, robust=THETA_RESULT.clean)
        finding = judged("fig2", (THETA_CONFIG, still))
        assert (finding.outcome, finding.predicted) == ("fails", HALF_GAIN)

    def test_the_exponent_of_the_papers_schedule(self):
        assert pytest.approx(1.6, abs=0.05) == angles.PRINTED_EXPONENT


class TestFrozenLayers:
    LAYERS = len(FREEZING_CONFIG.layers)

    def stage(self, **scores):
        fragile = Scores(accuracy=0.9, attacker=0.0, strong=0.0)
        return score_lists(replace(fragile, **scores), self.LAYERS)

    def test_the_first_layer_freezes_nothing_and_is_not_asked(self):
        stage2 = self.stage()
        stage2 = replace(stage2, strong=[0.3, *stage2.strong[1:]])
        cell = (FREEZING_CONFIG, replace(FREEZING_RESULT, stage2=stage2))
        assert judged("sec8.2.frozen", cell).outcome == "holds"
        nothing = replace(FREEZING_RESULT, frozen_tensors=[0] * self.LAYERS)
        for item in ("fig2.resnet", "sec8.2.frozen", "fig11"):
            with pytest.raises(Undecided, match="no layer of the run has frozen ones"):
                judged(item, (FREEZING_CONFIG, nothing))

    def test_a_net_that_is_wrong_anyway_has_no_robustness_to_lose(self):
        cell = (FREEZING_CONFIG, replace(FREEZING_RESULT, stage2=self.stage(accuracy=0.1)))
        assert judged("sec8.2.frozen", cell).outcome == "fails"

    def test_images_of_one_net_decide_about_that_net(self):
        finding = judged("sec8.2.frozen", (FREEZING_CONFIG, FREEZING_RESULT), seeds=1)
        assert (finding.outcome, finding.unit.name) == ("holds", "share of test images of one net")
        few = (replace(FREEZING_CONFIG, attacked=100), FREEZING_RESULT)
        assert judged("sec8.2.frozen", few, seeds=1).outcome == "inconclusive"

    @pytest.mark.parametrize(
        ("stage", "scores"),
        [
            ("stage2", {"accuracy": 0.7}),
            ("stage2", {"attacker": 0.1}),
            ("stage3", {"accuracy": 0.6, "attacker": 0.5}),
            ("stage3", {"accuracy": 0.7, "attacker": 0.3}),
        ],
    )
    def test_the_four_accuracies_of_the_caption_are_judged(self, stage, scores):
        result = replace(FREEZING_RESULT, **{stage: self.stage(**scores)})
        assert judged("fig2.resnet", (FREEZING_CONFIG, result)).outcome == "fails"

    def test_robustness_from_other_filters_is_no_purification(self):
        turned = replace(FREEZING_RESULT, clean_robust_large=[0.2] * self.LAYERS)
        assert judged("fig11", (FREEZING_CONFIG, turned)).outcome == "fails"

    def test_frozen_layers_that_moved_or_are_not_robust_are_out_of_regime(self):
        moved = replace(
            FREEZING_RESULT,
            frozen_unchanged=[False] * self.LAYERS,
            stage1=Scores(accuracy=0.9, attacker=0.0, strong=0.0),
        )
        config = replace(FREEZING_CONFIG, stop=False, last_epochs=5)
        assert unmet("fig11", (config, moved)) == {
            "Sec 8.2: frozen layers stay as they are, bit for bit",
            "Fig 2: the net of stage 1 has robust accuracy > 42%",
            "fn 17: T = 50 epochs in every stage",
            "fn 17: stage 3 stops once the accuracies of stage 1 are back",
        }

    def test_pictures_that_stay_dense_at_one_layer_are_no_purification(self):
        one = FREEZING_CONFIG.layers[-1]
        dense = FREEZING_RESULT.features | {f"robust|{one}": layer_features(2.9)[f"robust|{one}"]}
        cell = (FREEZING_CONFIG, replace(FREEZING_RESULT, features=dense))
        assert judged("fig11", cell).outcome == "fails"

    def test_zeros_of_three_nets_decide_the_printed_zero(self):
        shift = iter((-0.002, 0.0, 0.002))
        runs = [
            replace(run, result=replace(run.result, **_shifted(run.result, next(shift))))
            for run in examples((FREEZING_CONFIG, FREEZING_RESULT), seeds=3)
        ]
        assert CHECKS["fig2.resnet"].evaluate(Runs(runs)).outcome == "holds"

    def test_only_the_attacker_of_figure_11_is_read_there(self):
        other = replace(FREEZING_CONFIG, attacker="linf:8", layers=(LAYER_27,))
        cells = ((FREEZING_CONFIG, FREEZING_RESULT), (other, FREEZING_RESULT))
        for item in ("fig2.resnet", "sec8.2.frozen", "fig11"):
            watched, read = Runs(examples(*cells)).watched()
            CHECKS[item].evaluate(watched)
            assert read == set(range(12))

    def test_the_schedule_of_footnote_17_is_asked_for(self):
        config = replace(FREEZING_CONFIG, milestones=(25, 40))
        assert unmet("fig2.resnet", (config, FREEZING_RESULT)) == {
            "fn 17: the rate falls to 0.01 after 40 epochs of every stage"
        }


def _shifted(result, shift):
    """The same shares and accuracies with a spread, but for those that are zero."""
    lists = ("start_clean_small", "start_robust_small", "clean_robust_large", "pairs_small")
    moved = {name: [value + shift for value in getattr(result, name)] for name in lists}
    for stage in ("stage2", "stage3"):
        scores = getattr(result, stage)
        attacker = [value + shift if value else value for value in scores.attacker]
        accuracy = [value + shift for value in scores.accuracy]
        moved[stage] = replace(scores, attacker=attacker, accuracy=accuracy)
    return moved


class TestFourAttackers:
    def cells(self, *waves, names=ATTACKERS):
        return [
            (
                replace(FREEZING_CONFIG, attacker=name),
                replace(FREEZING_RESULT, features=layer_features(3 * left)),
            )
            for name, left in zip(names, waves, strict=True)
        ]

    @pytest.mark.parametrize("waves", [(0.6, 0.4, 0.4, 0.6), (0.5, 0.51, 0.6, 0.4), (0.6, 0.4, 0.95, 0.4)])
    def test_each_norm_is_ordered_and_each_attacker_purifies(self, waves):
        assert judged("fig13", *self.cells(*waves)).outcome == "fails"

    def test_a_missing_attacker_leaves_it_open_and_one_can_refute(self):
        three = self.cells(0.6, 0.4, 0.6, names=ATTACKERS[:3])
        assert judged("fig13", *three).outcome == "inconclusive"
        assert judged("fig13", *self.cells(0.4, 0.6, names=ATTACKERS[:2])).outcome == "fails"

    def test_other_radii_are_ordered_as_well(self):
        names = (*ATTACKERS, "l2:2:0.25")
        assert judged("fig13", *self.cells(0.6, 0.4, 0.6, 0.4, 0.5, names=names)).outcome == "fails"
        assert judged("fig13", *self.cells(0.6, 0.4, 0.6, 0.4, 0.3, names=names)).outcome == "holds"

    def test_turned_filters_or_no_gain_refute(self):
        for changes in (
            {"stage3": FREEZING_RESULT.stage2},
            {"clean_robust_large": [0.1] * len(FREEZING_CONFIG.layers)},
        ):
            cells = [
                (config, replace(result, **changes)) for config, result in self.cells(0.6, 0.4, 0.6, 0.4)
            ]
            assert judged("fig13", *cells).outcome == "fails"

    def test_the_27th_layer_is_read_and_asked_for(self):
        index = FREEZING_CONFIG.layers.index(LAYER_27)
        large = [0.1] * len(FREEZING_CONFIG.layers)
        large[index] = 0.9
        cells = [
            (config, replace(result, clean_robust_large=large))
            for config, result in self.cells(0.6, 0.4, 0.6, 0.4)
        ]
        assert judged("fig13", *cells).outcome == "holds"
        config = replace(FREEZING_CONFIG, layers=FREEZING_CONFIG.layers[:2], attacker="l2:1")
        assert unmet("fig13", (config, FREEZING_RESULT)) == {
            "Fig 13: the 27th convolution",
            "Sec 8: one of the four attackers",
        }


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


@pytest.mark.parametrize(
    "network", ["resnet34", "preact34", "resnet16", "wrn:34:2", "wrn:28:10", "alexnet:1"]
)
def test_other_nets_of_the_same_name_are_not_the_papers(network):
    config = replace(TABLE1_CONFIG, network=network)
    (name,) = unmet("tab1", (config, TABLE1_RESULT))
    assert name == "Sec 8: ResNet-34 with basic blocks and 31 convolutions, 466714 weights"


def test_two_classes_make_another_net():
    config = replace(TABLE1_CONFIG, source="cifar10_pair")
    assert any("466714 weights" in name for name in unmet("tab1", (config, TABLE1_RESULT)))


@pytest.mark.parametrize("net", [paper_nets.ALEXNET_WHOLE, paper_nets.RESNET34, paper_nets.WIDE])
def test_the_papers_nets_are_in_the_full_presets_and_have_their_size(net):
    sizes = {"alexnet:1": 5, "wrn:34:1": 31, "wrn:28:10": 25}
    assert network_size(net.name, 10) == (net.weights, sizes[net.name])
    experiments = {check.experiment.name: check.experiment for check in CHECKS.values()}
    configs = [cell.config for each in experiments.values() for cell in planned(each, "full")]
    assert any(net.is_net_of(config) and net.has_rates_of(config) for config in configs)


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
