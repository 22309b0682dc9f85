"""What the checks of features say about runs made by hand."""

import math
from dataclasses import replace

import pytest

from karat.papers.features.experiments.descent import DescentConfig, DescentResult
from karat.papers.features.experiments.directions import Float32Cosines
from karat.papers.features.experiments.filters import BlockTraining, FiltersConfig, FiltersResult
from karat.papers.features.experiments.methods import Cosines, MethodScores, MethodsResult
from karat.papers.features.experiments.quality import Quality, QualityConfig, QualityResult
from karat.papers.features.experiments.students import (
    Agreement,
    StudentCurves,
    StudentsConfig,
    StudentsResult,
)
from karat.papers.features.experiments.tables import INTERVAL, PAPER
from karat.study.registry import CHECKS
from karat.study.run import Run


def finding(claim_id, runs):
    return CHECKS[claim_id].evaluate(runs)


def scores(test, **more):
    """A method of given test accuracy."""
    given = {"train": test, "hinge": 0.0, "zero": 0.0, "lr": 1.0, "curve_steps": [10], "curve": [test]}
    return MethodScores(test=test, **(given | more))


def methods_run(seed=0, *, config=PAPER, step1=0.9, step2=1.0, majority_unstructured=None, **methods):
    """A run of the given methods, each by its scores or its test accuracy."""
    result = MethodsResult(
        majority=0.5,
        scale=5.0,
        label_corr=0.25,
        closed_form_spread=1e-6,
        closed_form=True,
        start=Cosines(cos=0.1, cos_mean=0.05),
        step1=Cosines(cos=step1, cos_mean=step1),
        step2=Cosines(cos=step2, cos_mean=step2),
        step1_float32=Float32Cosines(fitted_cos=0.5, theory_cos=0.1),
        majority_unstructured=majority_unstructured,
        methods={
            name: given if isinstance(given, MethodScores) else scores(given)
            for name, given in methods.items()
        },
    )
    return Run(config, result, seed)


@pytest.mark.parametrize(
    ("one", "rescaled", "literal", "scaled"),
    [(0.52, 1.0, "holds", "fails"), (0.51, 0.53, "holds", "holds"), (0.9, 1.0, "fails", "fails")],
)
def test_the_printed_one_step_is_judged_apart_from_the_rescaled_one(one, rescaled, literal, scaled):
    runs = [methods_run(s, one_step=one, one_step_rescaled=rescaled, two_step=1.0) for s in range(3)]
    assert finding("features.secE.1.1.second", runs).verdict == literal
    assert finding("features.secE.1.1.scale", runs).verdict == scaled


def test_plain_and_balanced_batches_are_cells_of_their_own():
    def run(sampling, accuracy):
        config = replace(PAPER, negative_rate=0.8, sampling=sampling)
        return methods_run(config=config, network=accuracy, two_step=1.0)

    found = finding("features.tab4", [run("plain", 0.99), run("balanced", 0.9)])
    assert found.measured == 0.75
    assert found.caveat.endswith("Network at negative_rate=0.8, balanced batches 90.0 (printed 100).")


def test_a_run_away_from_every_printed_part_is_not_compared():
    with pytest.raises(ValueError, match="no run has the settings of a printed part"):
        finding("features.tab3", [methods_run(config=replace(PAPER, d=700), network=1.0)])


@pytest.mark.parametrize(("rf", "want"), [(0.7, "holds"), (1.0, "fails")])
def test_the_network_must_lead_both_fixed_feature_methods(rf, want):
    runs = [methods_run(network=1.0, ntk=0.8, rf=0.7), methods_run(1, network=0.99, ntk=0.8, rf=rf)]
    assert finding("features.fig9", runs).verdict == want


@pytest.mark.parametrize(("away", "want"), [(0.52, "holds"), (0.54, "fails")])
def test_without_structure_every_method_of_figure_5_must_be_at_chance(away, want):
    coins = {"network_unstructured": 0.5, "ntk_unstructured": away, "rf_unstructured": 0.5}
    runs = [methods_run(network=1.0, ntk=0.8, rf=0.7, **coins)]
    assert finding("features.fig5", runs).verdict == want


@pytest.mark.parametrize(("worst", "want"), [(0.991, "holds"), (0.98, "fails")])
def test_the_worst_run_must_be_aligned(worst, want):
    assert finding("features.fig6", [methods_run(), methods_run(1, step2=worst)]).verdict == want


def _descent_run(minimum, **settings):
    result = DescentResult(
        sizes=[3, 9], test_loss=[1.0, 2.0], test=[0.5, 0.5], minimum=minimum, inputs_used=60_000
    )
    return Run(DescentConfig(**settings), result, 0)


def _minima(minima):
    runs = [_descent_run(9.0)]
    return runs + [_descent_run(size, inputs="gaussian", teacher=teacher) for teacher, size in minima.items()]


@pytest.mark.parametrize(
    ("minima", "want"),
    [
        ({9: 9.0, 50: 20.0, 500: 100.0}, "holds"),
        ({9: 7.0, 50: 20.0, 500: math.nan}, "holds"),
        ({9: 9.0, 50: 9.0, 500: 100.0}, "fails"),
        ({9: 50.0, 50: 100.0, 500: 200.0}, "fails"),
        ({9: math.nan, 50: 20.0, 500: 50.0}, "fails"),
    ],
)
def test_the_minima_of_students_must_start_at_the_teacher_and_rise(minima, want):
    assert finding("features.fig26", _minima(minima)).verdict == want


def test_students_of_one_teacher_cannot_be_compared():
    with pytest.raises(ValueError, match="at most one teacher"):
        finding("features.fig26", _minima({9: 9.0}))


def _filters_run(m, inside, between):
    cosines = (inside, inside, between)
    training = {
        f"block{b}": BlockTraining(start=(0.1, 0.1, 0.0), early_move=0.1, late_move=0.1) for b in range(1, 5)
    }
    result = FiltersResult(
        test=0.9,
        block1=cosines,
        block2=cosines,
        block3=cosines,
        block4=cosines,
        training=training,
        gradient_cosines=[0.9, 0.9, 0.9, 0.7, 0.6, 0.7],
        gradient_cosines_mean=[0.9, 0.9, 0.9, 0.7, 0.6, 0.7],
    )
    return Run(FiltersConfig(source="digits", m=m, n=100), result, 0)


@pytest.mark.parametrize(
    ("inside", "between", "want"),
    [(0.6, -0.9, "holds"), (0.6, -0.5, "fails"), (0.4, -0.9, "fails")],
)
def test_the_wider_net_must_cluster_more(inside, between, want):
    narrow, wide = _filters_run(128, 0.5, -0.6), _filters_run(256, inside, between)
    assert finding("features.fig21", [narrow, wide]).verdict == want
    assert finding("features.fig20", [narrow, wide]).measured == -0.6
    with pytest.raises(ValueError, match=r"only ResNet\(128\) was run"):
        finding("features.fig21", [narrow])


def _students_run(on_originals, on_injected, **settings):
    """Students of sizes 9 and 50 whose agreement is given for 9, and for 50 is one on originals."""

    def agreement(first, second):
        return Agreement(
            original=[0.0, first],
            injected=[0.0, second],
            original_final=first,
            injected_final=second,
        )

    students = {9: agreement(on_originals, on_injected), 50: agreement(1.0, on_injected)}
    curves = StudentCurves(steps=[0, 10], students=students)
    result = StudentsResult(
        teacher_test=0.9,
        class_share_min=0.1,
        class_share_max=0.1,
        majority_original=0.1,
        mixture=curves,
        control=curves,
    )
    base = {"source": "digits", "teacher": 9, "students": (9, 50), "n": 100, "steps": 10, "teacher_steps": 10}
    return Run(StudentsConfig(**(base | settings)), result, 0)


@pytest.mark.parametrize(
    ("original", "injected", "small_gap", "clearer"),
    [(0.82, 0.8, "holds", "holds"), (0.9, 0.8, "fails", "holds"), (1.0, 0.8, "fails", "fails")],
)
def test_the_gap_of_students_is_none_at_first_and_clearer_with_size(original, injected, small_gap, clearer):
    runs = [_students_run(original, injected)]
    assert finding("features.fig22", runs).verdict == small_gap
    assert finding("features.fig25", runs).verdict == clearer


@pytest.mark.parametrize(("foreign", "want"), [(0.6, "holds"), (0.4, "fails"), (0.95, "fails")])
def test_foreign_images_lie_between_noise_and_originals(foreign, want):
    net = {"net": "resnet", "students": (9,)}
    noise = _students_run(0.9, 0.5, **net)
    runs = [noise, _students_run(0.9, foreign, injected="tiny_imagenet", **net)]
    assert finding("features.fig23", runs).verdict == want
    with pytest.raises(ValueError, match="no mixture with Tiny ImageNet"):
        finding("features.fig23", [noise])


@pytest.mark.parametrize(("loss", "want"), [(0.0, "holds"), (0.1, "inconclusive")])
def test_a_classifier_with_errors_on_new_points_decides_nothing(loss, want):
    def run(seed):
        quality = Quality(
            loss=0.0, test_loss=loss * (1 + seed / 9), test_error=loss, features=9, largest_weight=3.0
        )
        stages = dict.fromkeys(("start", "step1", "step1_rescaled", "step2"), quality)
        config = QualityConfig(d=100, D=100, k=5, n=1000, pairs=50, steps=3)
        return Run(config, QualityResult(linear_hinge=0.5, **stages), seed)

    assert finding("features.lem23.lp", [run(0), run(1)]).verdict == want


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({}, "holds"),
        ({"ntk": scores(0.9, curve_steps=[1, 10], curve=[0.6, 0.99])}, "fails"),
        ({"network": scores(1.0, curve_steps=[3, 10], curve=[0.5, 0.6])}, "fails"),
        ({"network_unstructured": 0.8}, "fails"),
    ],
)
def test_figure_7_needs_speed_and_little_loss_without_structure(change, want):
    methods = {
        "network": scores(1.0, curve_steps=[3, 10], curve=[0.9, 1.0]),
        "ntk": scores(0.99, curve_steps=[1, 10], curve=[0.6, 0.99]),
        "rf": 0.7,
        "network_unstructured": 0.99,
        "ntk_unstructured": 0.99,
    } | change
    runs = [methods_run(s, config=INTERVAL, majority_unstructured=0.95, **methods) for s in (0, 1)]
    assert finding("features.fig7", runs).verdict == want


def test_the_printed_cosine_is_met_within_half_a_unit():
    def run(cosine):
        return [methods_run(config=replace(PAPER, d=2000), step1=cosine)]

    assert finding("features.tab3.one-step", run(0.5604)).verdict == "holds"
    assert finding("features.tab3.one-step", run(0.561)).verdict == "fails"


@pytest.mark.parametrize(("ratio", "want"), [(0.5, "holds"), (1.5, "fails")])
def test_no_neuron_may_move_further_than_the_bound(ratio, want):
    moved = [scores(1.0, moved=0.1, moved_over_bound=ratio + 0.01 * seed) for seed in (0, 1)]
    runs = [methods_run(seed, network=network) for seed, network in enumerate(moved)]
    assert finding("features.lem24", runs).verdict == want


def test_a_number_that_a_method_does_not_have_is_named():
    with pytest.raises(KeyError, match="moved_over_bound"):
        finding("features.lem24", [methods_run(network=1.0)])


def test_classifier_learning_outside_the_lemma_is_named():
    def unmet(**settings):
        named = CHECKS["features.lem24"].hypotheses(methods_run(config=replace(PAPER, **settings)))
        return [text for text in named if text.startswith("Lem 24")]

    assert unmet(lr_a=(10.0,), lr_hidden=1e-3, momentum=0.95) == [
        "Lem 24: rates below 1 (that of the output weights is larger)",
        "Lem 24: one rate for all weights",
        "Lem 24: no momentum",
    ]
    assert unmet(lr_a=(0.1,), lr_hidden=0.1, momentum=0.0) == []


def test_the_loss_after_feature_learning_matters_only_for_what_comes_after_it():
    run = methods_run(config=replace(PAPER, negative_rate=0.8, sampling="balanced"))
    assert any("batches were balanced" in text for text in CHECKS["features.fig11"].hypotheses(run))
    assert CHECKS["features.fig12"].hypotheses(run) == []
