"""Settings that nobody should choose end in a refusal, a divergence or finite numbers, never in a crash."""

import math
import random

import pytest

from karat.lab import Store, run_cells
from karat.study.claim import judge_claim
from karat.study.config import hints
from karat.study.experiment import cells
from karat.study.hypothesis import conditions_at
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement

NUMBERS = {
    float: ("0", "1e-300", "1e-12", "-1", "1", "2", "3", "1e20", "1e39", "1e300", "nan", "inf"),
    int: ("-1", "0", "1", "2", "3", "1e20"),
}
SAMPLE, PAIRS = 200, 100
# Whether these fit together shows only once the data of a seed are drawn.
CLEAR = ("is incompatible with the data", "must hold both labels", "images drawn")


def every_extreme():
    """All theory experiments, each numeric setting at each extreme value."""
    for name, experiment in EXPERIMENTS.items():
        if experiment.part == "theory":
            yield from ((name, settings) for settings in extremes_of(experiment))


def extremes_of(experiment):
    """Each numeric setting of an experiment at each extreme value."""
    found = []
    for setting, hint in hints(experiment.preset("tiny").config).items():
        kind = next((kind for kind in NUMBERS if kind.__name__ in str(hint).split("[")[-1]), None)
        found += [{setting: value} for value in NUMBERS.get(kind, ())]
    return found


def planned(name, settings):
    """The first cell of the settings, or the sentence with which they are refused."""
    try:
        return cells(EXPERIMENTS[name], "tiny", 1, settings)[0]
    except ValueError as refusal:
        return str(refusal)


@pytest.mark.slow
def test_a_sample_of_extreme_settings_is_finite_refused_or_diverged(tmp_path):
    sample = random.Random(0).sample(list(every_extreme()), SAMPLE)
    plans = [planned(*extreme) for extreme in sample]
    refused = [plan for plan in plans if isinstance(plan, str)]
    assert all("`" in sentence and sentence.endswith(".") for sentence in refused)
    todo = [plan for plan in plans if not isinstance(plan, str)]
    with Store(tmp_path / "extremes.sqlite") as store:
        records = run_cells(todo, store, workers=1)  # a process of its own: one that dies is a failed cell
    assert len({record.key for record in records}) == len({cell.key for cell in todo})
    failed = [(record.experiment, record.config, record.error) for record in records if not record.finished]
    assert [case for case in failed if not any(text in case[-1] for text in CLEAR)] == []
    assert {record.status for record in records} >= {"done", "diverged"}
    for check in CHECKS.values():
        for record in records:
            if record.experiment == check.name:
                judge_claim(get_statement(check.claim_id), check, [record], "tiny")


@pytest.mark.parametrize("name", sorted({check.name for check in CHECKS.values()}))
def test_hypotheses_answer_at_every_setting_that_can_be_asked_for(name):
    """At each extreme value of each setting, and of random pairs of settings."""
    checks, draw = [check for check in CHECKS.values() if check.name == name], random.Random(name)
    extremes = extremes_of(EXPERIMENTS[name])
    pairs = [draw.choice(extremes) | draw.choice(extremes) for _ in range(PAIRS if extremes else 0)]
    plans = (planned(name, settings) for settings in ({}, *extremes, *pairs))
    for config in {plan.config_hash: plan.config for plan in plans if not isinstance(plan, str)}.values():
        for condition in (condition for check in checks for condition in conditions_at(check, config)):
            sides = [side for side in (condition.value, condition.bound) if side is not None]
            assert not any(map(math.isnan, sides)), f"{config}: {condition}"


@pytest.mark.parametrize("name", [name for name, e in EXPERIMENTS.items() if e.part == "theory"])
def test_no_setting_may_be_nan_or_overflow_single_precision_or_an_index(name):
    for setting, hint in hints(EXPERIMENTS[name].preset("tiny").config).items():
        for value in {float: ("nan", "1e39"), int: ("1e20",)}.get(hint, ()):
            refusal = planned(name, {setting: value})
            assert isinstance(refusal, str), f"{name} takes {setting}={value}"
            assert f"`{setting}`" in refusal
            assert refusal.endswith(".")


@pytest.mark.parametrize(
    ("name", "rule", "settings"),  # the first of the settings is the one to blame
    [
        ("clean_time", "a finite number >= 1 and <= 1e+06, got 0.9.", {"width": 0.9}),
        ("clean_time", "a whole number >= 2, got 1.", {"d": 1, "k": 1}),
        (
            "drift",
            "a power of two such as 8 or 16 for hadamard",
            {"d": 12, "dictionary": "hadamard"},
        ),
        ("limits", "a power of two such as 512 or 1024 for hadamard", {"d": 1000, "dictionary": "hadamard"}),
        ("limits", "a finite number >= 0 and <= 1, got 1e+20.", {"c0": 1e20}),
        ("limits", "a whole number <= 1000000000000000, got 1000000000000000000.", {"d": 10**18}),
        ("ladder", "'identity', for the hard oracle in l_inf", {"dictionary": "unitary"}),
        ("robust_coupling", "a finite number >= 0 and <= 10, got 1e+20.", {"reach": 1e20}),
        ("phase_one", "a finite number <= 1 and > 0, got 1e+20.", {"c0": 1e20}),
        ("phase_one", "a finite number >= 1e-09 and <= 1e+09, got 1e-300.", {"threshold": 1e-300}),
        ("phase_one", "a finite number >= 1.01, got 1.001.", {"stretch": 1.001}),
        ("phase_two", "a finite number >= -10 and <= 10, got 1e+20.", {"lead_power": 1e20}),
        ("phase_two", "a finite number >= 0 and <= 1000, got 1000000000.0.", {"gap": 1e9}),
        ("tails", "a finite number >= 1e-09 and <= 1e+09, got 1e-300.", {"variance": 1e-300}),
        ("ticket_law", "a finite number >= 1, got 1e-300.", {"digits": 1e-300}),
        ("ticket_law", "a finite number > -2, got -2.0.", {"shift": -2.0}),
        ("ticket_tails", "a finite number >= 0.0001 and <= 0.1, got 1e-300.", {"gamma": 1e-300}),
        ("tickets", "a finite number >= 1.02, got 1.0.", {"width": 1.0, "d": 50}),
        ("oracles", "at most `d` = 3, got 12.", {"k": 12, "d": 3}),
        ("critical", "a finite number >= 1e-06, got 1e-300.", {"spread": 1e-300}),
        ("table1", "a whole number >= 1, got 0.", {"milestones": "0"}),
        ("coupling_loss", "a whole number <= 1000000, got 10000000.", {"k": 10**7}),
    ],
)
def test_settings_outside_the_domain_are_refused_before_anything_runs(name, rule, settings):
    sentence = planned(f"purification.{name}", settings)
    assert sentence.startswith(f"`{next(iter(settings))}` of `purification.{name}` must be {rule}")
    assert sentence.endswith(".")
