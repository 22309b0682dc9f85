"""A record is done only if its numbers are finite or the experiment says why one may be missing."""

import math
import re

import pytest

from karat.lab.execute import execute
from karat.study.experiment import cells
from karat.study.record import Record
from karat.study.registry import EXPERIMENTS
from karat.study.result import undefined_values

pytestmark = pytest.mark.slow


def missing(value, path=()):
    """Names that lead to every None and every infinity inside a record's values."""
    if isinstance(value, dict):
        return [found for name, inner in value.items() for found in missing(inner, (*path, name))]
    if isinstance(value, list):
        return [found for inner in value for found in missing(inner, path)]
    return [path] if value is None or (isinstance(value, float) and math.isinf(value)) else []


def run(name, **settings):
    return execute(cells(EXPERIMENTS[name], "tiny", 1, settings)[0], show_traceback=True)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_what_is_missing_at_the_tiny_size_is_declared(name, records):
    declared = undefined_values(EXPERIMENTS[name].result_type)
    for record in records(name):
        for path in missing(record.values):
            assert set(path) & set(declared), f"{name}: {'.'.join(path)}"


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_reasons_are_given_in_words(name):
    reasons = undefined_values(EXPERIMENTS[name].result_type).values()
    assert all(len(reason.split()) >= 3 for reason in reasons)


def test_an_infinite_loss_is_divergence():
    record = run("convergence.exit", lr=1e6, activation="quadratic_relu")
    assert record.status == "diverged"
    assert record.error == "`robust_loss` is inf."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lazy.fig5", "first_order"),
        ("lazy.fig4.radius", "margin_over_gradient"),
        ("lazy.single-step", "kappa"),
        ("convergence.vs-lazy", "flip_ratio"),
    ],
)
def test_ratios_of_a_net_that_is_constant_are_none(name, value):
    assert value in undefined_values(EXPERIMENTS[name].result_type)
    first = cells(EXPERIMENTS[name], "tiny", 1, {"m": 2})[0]
    missing_somewhere = False
    for seed in range(20):  # two neurons are a constant net for some seeds only
        record = execute(first.with_seed(seed), show_traceback=True)
        assert record.status == "done"
        assert Record.from_json(record.to_json()) == record
        found = record.values[value]
        missing_somewhere |= (found[0] if isinstance(found, list) else found) is None
        if missing_somewhere:
            break
    assert missing_somewhere


def test_without_a_radius_the_balls_are_still_compared():
    assert run("convergence.vs-lazy", tau=0.0).status == "done"


def test_points_that_nearly_coincide_are_divergence_of_the_kernel():
    record = run("convergence.vs-lazy", tau=1e-4)
    assert record.status == "diverged"
    assert "points nearly coincide" in record.error


@pytest.mark.parametrize(
    ("name", "setting", "sentence"),
    [
        (
            "benign.sec5",
            {"lr": 1e39},
            "`lr` of `benign.sec5` must be a number of size at most 1e+30, got 1e+39.",
        ),
        (
            "lazy.one-point",
            {"C1": 30.0, "d": 100},
            "`C1` of `lazy.one-point` must be a finite number <= 10 and > 0",
        ),
        ("purification.l2", {"width": 1e-12}, "`width` of `purification.l2` must be a finite number >= 1 "),
        (
            "purification.l2",
            {"noise_ratio": -1.0},
            "`noise_ratio` of `purification.l2` must be a finite number >= 0",
        ),
        ("features.tab1", {"k": 2}, "`k` of `parity_law` must be odd"),
        (
            "features.tab1",
            {"negative_rate": 0.0},
            "`negative_rate` of `features.tab1` must be a finite number > 0 and < 1",
        ),
        ("features.hidden", {"k": 2}, "`codes_per_label` of `features.hidden` must be at most 2^k / 2 = 2"),
        (
            "convergence.built",
            {"p_fail": 2.0},
            "`p_fail` of `convergence.built` must be a finite number > 0 and < 1",
        ),
    ],
)
def test_settings_that_can_never_run_are_refused_in_one_sentence(name, setting, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}[^\n]*$"):
        cells(EXPERIMENTS[name], "tiny", 1, setting)
