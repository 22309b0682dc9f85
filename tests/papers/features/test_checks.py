"""What the checks of features say about records made by hand."""

import pytest

from karat.study.registry import CHECKS

STEPS = {"lr_first": 1e-8}


@pytest.fixture
def verdict():
    """Claim id and records -> outcome of the check's evaluation."""
    return lambda claim_id, records: CHECKS[claim_id].evaluate(records).verdict


@pytest.mark.parametrize(
    ("one", "rescaled", "literal", "scaled"),
    [(0.52, 1.0, "holds", "fails"), (0.51, 0.53, "holds", "holds"), (0.9, 1.0, "fails", "fails")],
)
def test_the_printed_one_step_is_judged_apart_from_the_rescaled_one(
    make_record, verdict, one, rescaled, literal, scaled
):
    values = {"one_step_test": one, "one_step_rescaled_test": rescaled, "two_step_test": 1.0}
    records = [make_record(seed, config=STEPS, **values) for seed in range(3)]
    assert verdict("features.secE.1.1.second", records) == literal
    assert verdict("features.secE.1.1.scale", records) == scaled


def test_plain_and_balanced_batches_are_cells_of_their_own(make_record):
    def run(sampling, accuracy):
        config = {"negative_rate": 0.8, "sampling": sampling}
        return make_record(config=config, network_test=accuracy, two_step_test=1.0)

    finding = CHECKS["features.tab4"].evaluate([run("plain", 0.99), run("balanced", 0.9)])
    assert finding.measured == 0.75
    assert finding.caveat.endswith("Network at negative_rate=0.8, balanced batches 90.0 (printed 100).")


def _students(make_record, minima, own=9.0):
    config = {"inputs": "original", "teacher": 9}
    records = [make_record(config=config, minimum=own, inputs_used=60_000)]
    for teacher, size in minima.items():
        config = {"inputs": "gaussian", "teacher": teacher}
        records.append(make_record(config=config, minimum=size, inputs_used=60_000))
    return records


@pytest.mark.parametrize(
    ("minima", "want"),
    [
        ({9: 9.0, 50: 20.0, 500: 100.0}, "holds"),
        ({9: 7.0, 50: 20.0, 500: float("nan")}, "holds"),
        ({9: 9.0, 50: 9.0, 500: 100.0}, "fails"),
        ({9: 50.0, 50: 100.0, 500: 200.0}, "fails"),
        ({9: float("nan"), 50: 20.0, 500: 50.0}, "fails"),
    ],
)
def test_the_minima_of_students_must_start_at_the_teacher_and_rise(make_record, verdict, minima, want):
    assert verdict("features.fig26", _students(make_record, minima)) == want


def test_students_of_one_teacher_cannot_be_compared(make_record):
    with pytest.raises(ValueError, match="at most one teacher"):
        CHECKS["features.fig26"].evaluate(_students(make_record, {9: 9.0}))


def _filters(make_record, m, inside, between):
    blocks = {f"block{b}": [inside, inside, between] for b in range(1, 5)}
    starts = {f"block{b}_start": [0.1, 0.1, 0.0] for b in range(1, 5)}
    moves = {f"block{b}_{when}_move": 0.1 for b in range(1, 5) for when in ("early", "late")}
    return make_record(config={"m": m}, test=0.9, **blocks, **starts, **moves)


@pytest.mark.parametrize(
    ("inside", "between", "want"),
    [(0.6, -0.9, "holds"), (0.6, -0.5, "fails"), (0.4, -0.9, "fails")],
)
def test_the_wider_net_must_cluster_more(make_record, verdict, inside, between, want):
    narrow = _filters(make_record, 128, 0.5, -0.6)
    wide = _filters(make_record, 256, inside, between)
    assert verdict("features.fig21", [narrow, wide]) == want
    assert CHECKS["features.fig20"].evaluate([narrow, wide]).measured == -0.6
    with pytest.raises(ValueError, match=r"only ResNet\(128\) was run"):
        CHECKS["features.fig21"].evaluate([narrow])


@pytest.mark.parametrize(("loss", "want"), [(0.0, "holds"), (0.1, "inconclusive")])
def test_a_classifier_with_errors_on_new_points_decides_nothing(make_record, verdict, loss, want):
    stages = ("start", "step1", "step1_rescaled", "step2")
    errors = {f"{stage}_test_error": loss for stage in stages}
    config = {"p_o": 0.5, "n": 1000, "k": 5, "pairs": 50}
    values = {"step2_largest_weight": 3.0, "step2_loss": 0.0, **errors}
    records = [
        make_record(seed, config=config, step2_test_loss=loss * (1 + seed / 9), **values) for seed in (0, 1)
    ]
    assert verdict("features.lem23.lp", records) == want


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({}, "holds"),
        ({"ntk_test": 0.9}, "fails"),
        ({"network_curve": [0.5, 0.6]}, "fails"),
        ({"network_unstructured_test": 0.8}, "fails"),
    ],
)
def test_figure_7_needs_speed_and_little_loss_without_structure(make_record, verdict, change, want):
    values = {
        "network_test": 1.0,
        "ntk_test": 0.99,
        "rf_test": 0.7,
        "network_unstructured_test": 0.99,
        "ntk_unstructured_test": 0.99,
        "majority_unstructured": 0.95,
        "network_curve_steps": [3, 10],
        "network_curve": [0.9, 1.0],
        "ntk_curve_steps": [1, 10],
        "ntk_curve": [0.6, 0.99],
    } | change
    assert verdict("features.fig7", [make_record(seed, **values) for seed in (0, 1)]) == want


def test_the_printed_cosine_is_met_within_half_a_unit(make_record, verdict):
    def run(cosine):
        return [make_record(config={"d": 2000}, step1_cos=cosine, step1_float32_fitted_cos=0.5)]

    assert verdict("features.tab3.one-step", run(0.5604)) == "holds"
    assert verdict("features.tab3.one-step", run(0.561)) == "fails"


def test_classifier_learning_outside_the_lemma_is_named():
    config = {"k": 5, "D": 100, "pairs": 300, "p_o": 0.5, "lr_a": [10.0], "lr_hidden": 1e-3, "momentum": 0.95}
    unmet = CHECKS["features.lem24"].hypotheses(config)
    assert [text for text in unmet if text.startswith("Lem 24")] == [
        "Lem 24: rates below 1 (that of the output weights is larger)",
        "Lem 24: one rate for all weights",
        "Lem 24: no momentum",
    ]
    kept = CHECKS["features.lem24"].hypotheses(config | {"lr_a": [0.1], "lr_hidden": 0.1, "momentum": 0.0})
    assert not any(text.startswith("Lem 24") for text in kept)
