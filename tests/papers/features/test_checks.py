"""What the checks of features say about runs made by hand, beyond their own examples."""

import math
from dataclasses import replace

import pytest

from karat.papers.features import PAPER as FEATURES
from karat.papers.features.checks.floors import not_idle
from karat.papers.features.checks.made_up import as_printed, made_up_methods, made_up_scores
from karat.papers.features.experiments.clusters import ClustersConfig, ClustersResult
from karat.papers.features.experiments.descent import DescentConfig, DescentResult
from karat.papers.features.experiments.quality import QualityConfig
from karat.papers.features.experiments.students import StudentsConfig
from karat.papers.features.experiments.tables import INTERVAL, PAPER
from karat.study.judging import Undecided
from karat.study.run import Runs, examples

CHECKS = FEATURES.checks


def judged(claim_id, *cells):
    return CHECKS[f"features.{claim_id}"].evaluate(Runs(examples(*cells)))


def test_the_papers_own_loss_and_ours_are_judged_apart():
    plain = replace(PAPER, negative_rate=0.8)
    ours = replace(plain, weighted=True, sampling="balanced")
    printed, other = as_printed("tab4", "negative_rate=0.8"), as_printed("tab4", "negative_rate=0.8", off=0.1)
    cells = (plain, printed), (ours, other)
    assert judged("tab4", *cells).outcome == "holds"
    assert judged("tab4.balanced", *cells).outcome == "fails"
    with pytest.raises(Undecided, match="no run has the loss that is asked for"):
        judged("tab2.weighted", (INTERVAL, as_printed("tab2")))


def test_a_run_away_from_every_printed_part_is_not_compared():
    with pytest.raises(Undecided, match="no run has the settings of a printed part"):
        judged("tab3", (replace(PAPER, d=700), as_printed("tab3", "d=100")))


def test_every_printed_number_counts():
    printed = as_printed("tab1")
    scores = dict(printed.methods)
    for name, change in (("network", {"train": 0.6}), ("two_step", {"cos": 0.1}), ("rf", {"test": 0.77})):
        spoilt = replace(printed, methods=scores | {name: replace(scores[name], **change)})
        finding = judged("tab1", (PAPER, spoilt))
        assert finding.outcome == "fails"
        assert "16 of 17 printed numbers agree" in finding.caveat


@pytest.mark.parametrize("claim_id", ["tab1", "fig5", "fig6"])
def test_neurons_on_the_wrong_side_are_seen(claim_id):
    """Accuracies and best cosines are the same for ascent."""
    ((config, result),) = {
        (run.config, 0): run.result for run in CHECKS[f"features.{claim_id}"].satisfied
    }.items()
    wrong = replace(result, step2=replace(result.step2, signed=-result.step2.signed))
    assert judged(claim_id, (config[0], wrong)).outcome == "fails"


def _ranked(**accuracies):
    base = {"network": 1.0, "ntk": 0.84, "rf": 0.76}
    return made_up_methods({name: made_up_scores(test) for name, test in (base | accuracies).items()})


@pytest.mark.parametrize(
    ("change", "outcome"),
    [({}, "holds"), ({"rf": 0.9999}, "fails"), ({"ntk": 0.5, "rf": 0.5}, "fails")],
)
def test_the_network_must_lead_clearly_over_methods_that_learned(change, outcome):
    assert judged("fig13", (replace(PAPER, n=25_000), _ranked(**change))).outcome == outcome


@pytest.mark.parametrize(("away", "outcome"), [(0.52, "holds"), (0.56, "fails")])
def test_without_structure_every_method_of_figure_5_must_be_at_chance(away, outcome):
    coins = {"network_unstructured": 0.5, "ntk_unstructured": away, "rf_unstructured": 0.5}
    assert judged("fig5", (PAPER, _ranked(**coins))).outcome == outcome


def test_a_second_step_that_improves_nothing_is_seen():
    assert judged("fig6", (PAPER, made_up_methods({}, step1=0.998, step2=0.998))).outcome == "fails"


@pytest.mark.parametrize(
    "change",
    [
        {"ntk": made_up_scores(0.9, curve=(0.6, 0.99))},
        {"network": made_up_scores(1.0, curve=(0.5, 0.6))},
        {"ntk_unstructured": made_up_scores(0.8)},
    ],
)
def test_figure_7_needs_speed_and_little_loss_without_structure(change):
    result = CHECKS["features.fig7"].satisfied[0].result
    assert judged("fig7", (INTERVAL, replace(result, methods=result.methods | change))).outcome == "fails"


def _floor(hinge, weight_norm):
    config = replace(PAPER, k=9, D=144, pairs=100)
    rf = made_up_scores(0.75, hinge=hinge, weight_norm=weight_norm)
    return judged("thm2", (config, made_up_methods({"rf": rf})))


def test_a_floor_under_the_zero_function_is_no_floor():
    assert _floor(0.55, 5.0).outcome == "holds"
    assert _floor(1.0, 0.0).outcome == "fails"
    assert not_idle(0.5) == 0.75


def test_a_floor_below_zero_says_nothing():
    assert _floor(0.55, 1000.0).outcome == "vacuous"


def test_a_rate_above_the_loss_of_zero_says_nothing():
    finding = judged("thm1", (PAPER, made_up_methods({"network": made_up_scores(1.0)})))
    assert finding.outcome == "vacuous"


def test_slopes_below_the_sampling_error_are_not_judged():
    rf = made_up_scores(0.5, strength=0.0)
    with pytest.raises(Undecided, match="below the sampling error"):
        judged("thm29", (replace(PAPER, k=21, D=400), made_up_methods({"rf_unstructured": rf})))


def test_a_classifier_with_errors_on_new_points_alone_decides_nothing():
    run = CHECKS["features.lem23.lp"].satisfied[0]
    step2 = replace(run.result.step2, test_loss=0.1)
    assert judged("lem23.lp", (run.config, replace(run.result, step2=step2))).outcome == "inconclusive"
    with pytest.raises(Undecided, match="p_o = 1/2"):
        judged("lem23.lp", (replace(run.config, p_o=0.1), run.result))


def test_a_method_that_was_not_trained_is_named():
    with pytest.raises(Undecided, match="the method ntk was not trained"):
        judged("fig9", (PAPER, made_up_methods({})))


def test_classifier_learning_outside_the_lemma_is_named():
    def unmet(**settings):
        conditions = CHECKS["features.lem24"].conditions(replace(PAPER, **settings))
        return [condition.name for condition in conditions if condition.status == "unmet"]

    assert unmet(lr_a=(10.0,), lr_hidden=1e-3, momentum=0.95) == [
        "Lem 24: rates below 1",
        "Lem 24: one rate for all weights",
        "Lem 24: no momentum",
    ]
    assert unmet(lr_a=(0.1,), lr_hidden=0.1, momentum=0.0) == []


def test_class_weights_and_a_part_of_the_neurons():
    weighted = CHECKS["features.tab2"].conditions(replace(INTERVAL, weighted=True))
    assert [one.name for one in weighted if one.status == "unmet"] == [
        "Sec E.1: no class weights and no balanced batches"
    ]
    few = QualityConfig(d=100, D=100, k=5, n=50_000, pairs=50, steps=3)
    assert all(one.status == "met" for one in CHECKS["features.secE.1.1.second"].conditions(few))


def _start(init_scale, between):
    result = ClustersResult(
        steps=[0], inside=[0.5], between=[between], test=0.9, final_inside=0.5, final_between=between,
        best_count=2, largest_between=between, dead=0.0,
    )  # fmt: skip
    return ClustersConfig(source="digits", init_scale=init_scale), result


def test_starts_that_disagree_leave_clusters_open():
    assert judged("fig17", _start(0.01, -0.9), _start(0.1, -0.8)).outcome == "holds"
    with pytest.raises(Undecided, match="the size of the start"):
        judged("fig17", _start(0.01, -0.9), _start(0.1, -0.1))
    with pytest.raises(Undecided, match="no run on svhn_pair"):
        judged("fig19", _start(0.01, -0.9))


def _descent(teacher, minimum):
    result = DescentResult(
        sizes=[3, 9, 30], test_loss=[2, 1, 2], test=[0.5] * 3, minimum=minimum, inputs_used=9
    )
    return DescentConfig(inputs="gaussian", teacher=teacher, sizes=(3, 9, 30)), result


@pytest.mark.parametrize(
    ("minima", "outcome"),
    [
        ({9: 9.0, 50: 20.0, 500: 25.0}, "holds"),
        ({9: 7.0, 50: 20.0, 500: math.nan}, "holds"),
        ({9: 7.0, 50: math.nan, 500: math.nan}, "holds"),
        ({9: 9.0, 50: 9.0, 500: 25.0}, "fails"),
        ({9: 30.0, 50: 30.0, 500: math.nan}, "fails"),
        ({9: math.nan, 50: 20.0, 500: 25.0}, "fails"),
    ],
)
def test_the_minima_of_students_must_start_at_the_teacher_and_rise(minima, outcome):
    assert judged("fig26", *(_descent(*pair) for pair in minima.items())).outcome == outcome


def test_minima_that_cannot_be_compared_are_not():
    with pytest.raises(Undecided, match="at most one teacher"):
        judged("fig26", _descent(9, 9.0))
    with pytest.raises(Undecided, match="all minima lie beyond"):
        judged("fig26", _descent(9, math.nan), _descent(50, math.nan))


def test_nets_of_one_width_are_not_compared():
    narrow = CHECKS["features.fig21"].satisfied[0]
    with pytest.raises(Undecided, match=r"only ResNet\(128\) was run"):
        judged("fig21", (narrow.config, narrow.result))


def test_students_of_another_size_do_not_stand_in():
    run = CHECKS["features.fig22"].satisfied[0]
    with pytest.raises(Undecided, match="no student of size 9"):
        judged("fig22", (replace(run.config, students=(50,)), run.result))
    with pytest.raises(Undecided, match="no mixture with Tiny ImageNet"):
        judged("fig23", (run.config, run.result))


def test_embedded_digits_are_not_mnist():
    few = StudentsConfig(source="digits", teacher=9, students=(9,), n=60_000, steps=1, teacher_steps=1)
    named = [one.name for one in CHECKS["features.fig22"].conditions(few) if one.status == "unmet"]
    assert named == ["Sec E.5.2: MNIST"]
