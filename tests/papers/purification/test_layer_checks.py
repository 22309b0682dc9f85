"""Checks of angles and of frozen layers: which layers, stages and attackers they judge."""

from dataclasses import replace

import pytest
from judged_images import CHECKS, judged, unmet

from karat.papers.purification.checks import (
    angles,
)
from karat.papers.purification.checks.image_examples import (
    FREEZING_CONFIG,
    FREEZING_RESULT,
    THETA_CONFIG,
    THETA_RESULT,
    layer_features,
    score_lists,
)
from karat.papers.purification.checks.image_records import HALF_GAIN
from karat.papers.purification.experiments.freezing import LAYER_27
from karat.papers.purification.experiments.image_setting import Scores
from karat.papers.purification.printed_table1 import ATTACKERS
from karat.study.judging import Undecided
from karat.study.run import Runs, examples


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
