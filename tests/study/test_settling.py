"""What would settle an open verdict: the right command, with a cost that follows from the records."""

from dataclasses import dataclass, replace

import pytest

from karat.study.check import Check
from karat.study.claim import Claim, ControlOutcome
from karat.study.control import Control
from karat.study.experiment import Experiment, Preset
from karat.study.finding import ERROR
from karat.study.hypothesis import Entry, at_least
from karat.study.judging import bound
from karat.study.plan import plan_claim
from karat.study.record import Record
from karat.study.settling import settling


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    d: int = 10
    steps: int = 5


@dataclass(frozen=True, kw_only=True)
class ToyResult:
    error: float


def run(config: ToyConfig, generator: object) -> ToyResult:
    raise AssertionError("nothing runs here")


TOY = Experiment(
    name="benign.sec5",
    title="A toy",
    paper="benign",
    presets={
        "tiny": Preset(config=ToyConfig(), seeds=2),
        "quick": Preset(config=ToyConfig(), grid={"d": (10, 20)}, seeds=3),
        "full": Preset(config=ToyConfig(d=1000), seeds=4, cell_seconds=50.0),
    },
    run=run,
)
NO_TRAINING = Control(name="no training", removes="training", settings={"steps": 0})
CHECK = Check(
    claim_id="benign.sec5",
    experiment=TOY,
    evaluate=lambda runs: bound([run.result.error for run in runs], "at most", 0.1, ERROR),
    conditions=lambda config: [at_least("d >= 500", config.d, 500)],
    controls=(NO_TRAINING,),
)
PLAN = plan_claim(CHECK, "quick")
OPEN = Claim(
    id="benign.sec5",
    paper="benign",
    title="Errors are small.",
    kind="upper",
    origin="paper",
    status="executable",
    verdict="inconclusive",
    scale="quick",
    seeds=3,
)
RECORDS = [
    Record(
        experiment=cell.experiment,
        config=cell.config_json,
        seed=cell.seed,
        status="done",
        values={"error": 0.1},
        error=None,
        cpu_seconds=cell.config.d / 10,
        version="0",
        environment={},
    )
    for cell in PLAN.cells
]


def settled(claim, records=RECORDS, settings=()):
    return settling(claim, CHECK, PLAN, records, settings)


def test_missing_seeds_cost_what_their_settings_have_cost():
    found = settled(replace(OPEN, seeds_needed=12))
    assert found.command == "karat check benign.sec5 --scale quick --seeds 12"
    assert found.seconds == pytest.approx(9 * (1 + 2))
    assert str(found).endswith("about 27 s of CPU time")


def test_the_users_own_settings_stay_in_the_command():
    found = settled(replace(OPEN, seeds_needed=12), settings=["d=40", "name=two words"])
    assert "--set d=40 --set 'name=two words' --seeds 12" in found.command


def test_one_seed_is_settled_by_three():
    assert settled(replace(OPEN, seeds=1)).command.endswith("--seeds 3")


def test_controls_that_have_not_run_are_asked_for():
    claim = replace(OPEN, caveat="No control has shown yet that it could be otherwise.")
    found = settled(claim)
    assert found.command == "karat check benign.sec5 --scale quick --controls"
    assert found.seconds == pytest.approx(2 * 1.5)
    ran = replace(RECORDS[0], config=PLAN.controls["no training"][0].config_json)
    assert settled(claim, [*RECORDS, ran]).command == ""


def test_no_run_settles_a_claim_whose_control_holds():
    claim = replace(OPEN, controls=(ControlOutcome(control=NO_TRAINING, holds=True),))
    assert settled(claim).command == ""


def test_out_of_regime_names_the_scale_inside_or_the_search():
    entry = Entry(condition=at_least("d >= 500", 10, 500), settings=2, unmet=2)
    claim = replace(OPEN, verdict="out of regime", ledger=(entry,), settles="a setting with d >= 500")
    assert settled(claim).command == "karat check benign.sec5 --scale full"
    assert settled(claim).seconds == 200
    assert settled(replace(claim, scale="full")).command == "karat regime benign.sec5 --scale full"


@pytest.mark.parametrize("verdict", ["holds", "fails", "vacuous", None])
def test_a_verdict_that_is_not_open_needs_nothing(verdict):
    assert settled(replace(OPEN, verdict=verdict)) is None
