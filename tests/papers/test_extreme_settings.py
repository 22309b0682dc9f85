"""Settings that nobody should choose end in a refusal, a divergence or finite numbers, never in a crash."""

import random

import pytest

from karat.lab import Store, run_cells
from karat.study.claim import judge_claim
from karat.study.config import hints
from karat.study.experiment import cells
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement

NUMBERS = {
    float: ("0", "1e-300", "1e-12", "-1", "1", "2", "3", "1e20", "1e39", "1e300", "nan", "inf"),
    int: ("-1", "0", "1", "2", "3"),
}
SAMPLE = 200
# Whether these fit together shows only once the data of a seed are drawn.
CLEAR = ("is incompatible with the data", "must hold both labels", "images drawn")


def every_extreme():
    """All theory experiments, each numeric setting at each extreme value."""
    for name, experiment in EXPERIMENTS.items():
        if experiment.part != "theory":
            continue
        for setting, hint in hints(experiment.preset("tiny").config).items():
            kind = next((kind for kind in NUMBERS if kind.__name__ in str(hint).split("[")[-1]), None)
            for value in NUMBERS.get(kind, ()):
                yield name, setting, value


def planned(name, setting, value):
    """The first cell of the setting, or the sentence with which it is refused."""
    try:
        return cells(EXPERIMENTS[name], "tiny", 1, {setting: value})[0]
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


@pytest.mark.parametrize("name", [name for name, e in EXPERIMENTS.items() if e.part == "theory"])
def test_no_setting_may_be_nan_or_overflow_single_precision(name):
    for setting, hint in hints(EXPERIMENTS[name].preset("tiny").config).items():
        for value in ("nan", "1e39") if hint is float else ():
            refusal = planned(name, setting, value)
            assert isinstance(refusal, str), f"{name} takes {setting}={value}"
            assert f"`{setting}`" in refusal
            assert refusal.endswith(".")
