"""The contract finds each fault of a package, and none in karat's own papers."""

import random
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from karat.contract import judge_paper, violations
from karat.core.divergence import Diverged
from karat.study import registry
from karat.study.check import Check
from karat.study.control import Control
from karat.study.experiment import Experiment, Preset
from karat.study.finding import RATIO
from karat.study.hypothesis import at_least
from karat.study.judging import bound, exact_bound
from karat.study.paper import Paper
from karat.study.run import examples
from karat.study.statement import tabulate


@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 3


@dataclass(frozen=True, kw_only=True)
class Result:
    value: float
    extra: float = 0.0


def draws(config, generator) -> Result:
    return Result(value=float(torch.rand(config.d, generator=generator, dtype=torch.float64).mean()))


def seedless(config, generator) -> Result:
    return Result(value=0.5)


def from_torch(config, generator) -> Result:
    return Result(value=float(torch.rand(1)), extra=float(torch.rand(1, generator=generator)))


def from_numpy(config, generator) -> Result:
    return replace(draws(config, generator), extra=0.0 * float(np.random.rand()))


def from_random(config, generator) -> Result:
    return replace(draws(config, generator), extra=0.0 * random.random())


def unseeded(config, generator) -> Result:
    return replace(draws(config, generator), extra=float(np.random.default_rng().random()))


def diverges(config, generator) -> Result:
    torch.rand(1, generator=generator)
    raise Diverged(3, "the loss")


def no_json(config, generator) -> Result:
    return Result(value=torch.rand(2, generator=generator))


def nameless(config, generator):
    return {"value": float(torch.rand(1, generator=generator))}


PRESETS = {scale: Preset(config=Config(), seeds=2) for scale in ("tiny", "quick", "full")}
SOUND = Experiment(name="toy.noise", title="How large?", paper="toy", presets=PRESETS, run=draws)
CHECK = Check(
    claim_id="toy.thm1",
    experiment=SOUND,
    evaluate=lambda runs: bound([run.result.value for run in runs], "at most", 2.0, RATIO),
    satisfied=examples((Config(), Result(value=1.0))),
    violated=examples((Config(), Result(value=3.0))),
    conditions=lambda config: [at_least("d >= 1", config.d, 1)],
    controls=(Control(name="wide", removes="scale", settings={"d": 9}),),
)


def reading(check, experiments):
    """The check, with the experiment that stands in the place of SOUND."""
    changed = [one for one in experiments if one.name == SOUND.name and check.experiment is SOUND]
    return replace(check, experiment=changed[0]) if changed else check


@pytest.fixture
def judge(monkeypatch):
    """Faults of a package with these experiments and checks, which is forgotten afterwards."""
    papers, broken = registry._papers()
    kept = SimpleNamespace(papers=dict(papers), broken=dict(broken))
    monkeypatch.setattr(registry, "_papers", lambda: (kept.papers, kept.broken))

    def faults(*experiments, checks=(CHECK,), table="thm1 | Thm 1 | 0 | upper\n  A thing is small."):
        paper = Paper(
            key="toy",
            title="T",
            authors=("A",),
            venue="V",
            year=2026,
            statements=tabulate("toy", table),
            package="toy_nowhere",
        )
        vars(paper).update(
            experiments={one.name: one for one in experiments},
            checks={one.claim_id: reading(one, experiments) for one in checks},
            figures={},
            tables={},
        )
        kept.papers.pop("toy", None)
        registry._room.cache_clear()
        return [(fault.level, fault.rule) for fault in judge_paper(paper)]

    yield faults
    for cached in (registry._by_id, registry._room, registry.executable_ids):
        cached.cache_clear()


def test_a_sound_package_has_no_faults(judge):
    assert judge(SOUND) == []


@pytest.mark.parametrize(
    ("run", "rules"),
    [
        (seedless, ["seed"]),
        (from_torch, ["global randomness", "seed"]),
        (from_numpy, ["global randomness"]),
        (from_random, ["global randomness"]),
        (unseeded, ["seed"]),
        (no_json, ["records"]),
        (diverges, ["records"]),
    ],
)
def test_what_a_run_does_wrong_is_found(judge, run, rules):
    assert judge(replace(SOUND, run=run)) == [("violation", rule) for rule in rules]


def test_an_experiment_without_randomness_says_so_by_one_seed(judge):
    once = {scale: replace(preset, seeds=1) for scale, preset in PRESETS.items()}
    assert judge(replace(SOUND, run=seedless, presets=once)) == []


def test_an_experiment_that_draws_may_measure_what_no_seed_changes(judge):
    def constant(config, generator) -> Result:
        return Result(value=float(draws(config, generator).value < 2))

    assert judge(replace(SOUND, run=constant)) == [("warning", "seed")]


def test_missing_presets_are_found(judge):
    short = {"tiny": PRESETS["tiny"]}
    rules = judge(replace(SOUND, presets=short))
    assert rules == [("violation", "presets")] * 4  # two of the experiment, two of its check


def test_checks_of_nothing_and_from_nowhere_are_found(judge):
    lost = [replace(CHECK, claim_id="toy.thm9"), replace(CHECK, experiment=replace(SOUND, name="toy.none"))]
    assert judge(SOUND, checks=lost) == [("violation", "missing statement"), ("violation", "experiment name")]


def test_a_check_of_another_experiment_than_its_name_finds_is_found(judge):
    other = replace(CHECK, experiment=replace(SOUND, title="How small?"))
    assert judge(SOUND, checks=[other]) == [("violation", "experiment name")]
    beside = replace(CHECK, beside=(replace(SOUND, title="How small?"),))
    assert judge(SOUND, checks=[beside]) == [("violation", "experiment name")]


def test_an_experiment_with_the_name_of_anothers_is_found_and_the_other_is_not_run(judge):
    borrowed = replace(SOUND, name="benign.fig1")
    assert judge(borrowed, checks=[replace(CHECK, experiment=borrowed)]) == [
        ("violation", "experiment name"),
        ("violation", "experiment name"),
    ]


def test_names_that_are_not_the_papers_own_are_found(judge):
    assert ("violation", "experiment name") in judge(SOUND, replace(SOUND, name="other.noise"))
    assert judge(SOUND, table="a/b | Thm 1 | 0 | upper\n  A thing.", checks=()) == [
        ("violation", "statements")
    ]


def test_a_check_that_cannot_judge_is_found(judge):
    def fails(runs):
        raise TypeError("no number")

    assert judge(SOUND, checks=[replace(CHECK, evaluate=fails)]) == [
        ("violation", "examples"),
        ("violation", "examples"),
        ("violation", "verdict"),
    ]


def test_a_run_without_a_result_class_is_found(judge):
    assert ("violation", "result") in judge(replace(SOUND, run=nameless))


@pytest.mark.parametrize("edge", [-1.0, 10.0])
def test_a_check_that_cannot_say_both_is_found(judge, edge):
    stubborn = replace(CHECK, evaluate=lambda runs: bound([0.0, 0.0, 0.0], "at most", edge, RATIO))
    assert ("violation", "examples") in judge(SOUND, checks=[stubborn])


def test_a_random_quantity_judged_as_exact_after_one_seed_is_no_fault_but_a_mean_is(judge):
    exact = replace(
        CHECK,
        evaluate=lambda runs: exact_bound([run.result.value for run in runs], "at most", 2.0, RATIO, "toy"),
    )
    assert judge(SOUND, checks=[exact]) == []
    hasty = replace(CHECK, evaluate=lambda runs: bound([runs[0].result.value] * 12, "at most", 2.0, RATIO))
    assert judge(SOUND, checks=[hasty]) == [("violation", "one seed")]


def test_missing_examples_controls_and_hypotheses_are_found(judge):
    bare = Check(claim_id="toy.thm1", experiment=SOUND, evaluate=CHECK.evaluate)
    assert judge(SOUND, checks=[bare]) == [
        ("violation", "examples"),
        ("violation", "examples"),
        ("violation", "controls"),
        ("warning", "missing hypothesis"),
    ]


def test_a_rule_that_does_not_fit_the_kind_is_found(judge):
    table = "thm1 | Thm 1 | 0 | rate\n  A thing falls like 1/d."
    assert judge(SOUND, table=table) == [("violation", "kind"), ("violation", "kind")]


@pytest.mark.parametrize("other", ["toy.thm9", "toy.thm1", "nowhere"])
def test_relations_to_nothing_are_found(judge, other):
    table = f"thm1 | Thm 1 | 0 | upper\n  A thing is small.\n  uses: {other}"
    assert judge(SOUND, table=table) == [("violation", "relations")]


def test_a_slow_tiny_size_is_a_warning(judge, monkeypatch):
    monkeypatch.setattr("karat.contract.behaviour.LONG", -1.0)
    assert judge(SOUND) == [("warning", "slow")]


CHEAP = {
    "purification": "purification.small_ball",
    "lazy": "lazy.thm3.1",
    "convergence": "convergence.cor5.1",
    "benign": "benign.lemmas",
    "features": "features.lem5",
}


@pytest.mark.slow
@pytest.mark.parametrize(("key", "name"), CHEAP.items())
def test_papers_of_karat_keep_the_contract(key, name):
    paper = registry.PAPERS[key]
    assert name in paper.experiments
    assert violations(paper, [name]) == []
