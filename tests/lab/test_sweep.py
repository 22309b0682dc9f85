"""Sweeps: calibrated, adaptive, resumed, seen before they are finished."""

from dataclasses import replace

import pytest
from karat_toys import TOY

from karat import api
from karat.api import plan_sweep
from karat.lab import Inline, Sweep, Target, run_sweep

GRID = {"d": "1:6:6", "tau": (0.1, 0.2)}


def planned(seeds=3, target=None, **overrides):
    return plan_sweep(TOY.name, "tiny", seeds, GRID, overrides, target)


def begun(log):
    return [tuple(map(int, line.split()[:2])) for line in log.read_text().splitlines()]


def test_all_configs_get_their_first_seed_before_any_gets_its_second(store, tmp_path):
    outcome = run_sweep(planned(log=str(tmp_path / "log")), store, Inline())
    assert (outcome.planned, outcome.computed, outcome.statuses) == (36, 36, {"done": 36})
    seeds = [seed for _, seed in begun(tmp_path / "log")][4:]  # four cells of the calibration come first
    assert seeds == sorted(seeds)


def test_the_cost_is_said_after_a_few_cells_and_nothing_is_computed_twice(store, tmp_path):
    heard = []
    sweep = planned(log=str(tmp_path / "log"))
    run_sweep(
        sweep,
        store,
        Inline(),
        calibrated=lambda estimate, model: heard.append((estimate.cells, len(begun(tmp_path / "log")))),
    )
    assert heard == [(32, 4)]
    assert len(set(begun(tmp_path / "log"))) < len(begun(tmp_path / "log")) == 36


def test_an_estimate_alone_computes_only_the_calibration_and_keeps_it(store):
    first = run_sweep(planned(), store, Inline(), only_calibrate=True)
    assert (first.computed, first.statuses) == (4, {"done": 4})
    assert run_sweep(planned(), store, Inline()).computed == 32


def test_a_sweep_goes_on_where_it_was(store):
    class Impatient:
        def start(self, total, done):
            self.left = 10

        def advance(self, record):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        def stop(self):
            pass

    with pytest.raises(KeyboardInterrupt):
        run_sweep(planned(), store, Inline(), progress=Impatient())
    assert run_sweep(planned(), store, Inline()).computed == 26
    assert run_sweep(planned(), store, Inline()).computed == 0


def test_adaptive_seeds_save_cells_and_resume(store):
    target = Target(value="mean", level=0.5)
    outcome = run_sweep(planned(8, target), store, Inline())
    assert outcome.sides == {"below": 12}
    assert outcome.computed + outcome.saved == outcome.planned == 96
    assert outcome.computed < 60
    again = run_sweep(planned(8, target), store, Inline())
    assert (again.computed, again.saved, again.sides) == (0, outcome.saved, outcome.sides)


def test_cells_that_fail_do_not_stop_an_adaptive_sweep(store):
    outcome = run_sweep(planned(4, Target(value="mean", level=0.5), mode="raise"), store, Inline())
    assert outcome.statuses["failed"] == 8
    assert outcome.sides["open"] == 2
    assert {found["d"] for found in outcome.decisions if found["side"] == "open"} == {2}
    assert {"d", "tau", "side", "interval", "seeds"} == set(outcome.decisions[0])


def test_cells_that_fail_now_count_as_failed_beside_older_results(store, make_record):
    """The store keeps the results of older source code; the sweep that did not reproduce them failed."""
    sweep = planned(1, mode="raise")
    for cell in sweep.cells:
        store.put(make_record(TOY.name, config=cell.config_json, seed=cell.seed, source="older"))
    outcome = run_sweep(sweep, store, Inline(), fresh=True)
    assert outcome.computed == 12
    assert outcome.statuses == {"done": 10, "failed": 2}
    assert {record.config["d"] for record in outcome.failed} == {2}
    assert {record.status for record in store.records()} == {"done"}


def test_the_plan_is_in_the_store_before_the_sweep_is_finished(store):
    sweep = planned()
    run_sweep(sweep, store, Inline(), only_calibrate=True)
    (plan,) = store.sweeps()
    assert plan == sweep.plan()
    assert plan["axes"] == {"d": [1, 2, 3, 4, 5, 6], "tau": [0.1, 0.2]}
    run_sweep(sweep, store, Inline())
    assert len(store.sweeps()) == 1


def test_a_small_sweep_needs_no_calibration(store):
    heard = []
    sweep = plan_sweep(TOY.name, "tiny", 1)
    run_sweep(sweep, store, Inline(), calibrated=lambda *told: heard.append(told))
    assert heard == []


def test_sweeps_of_other_seeds_have_other_names():
    sweep = planned()
    assert sweep.plan()["name"] == planned().plan()["name"]
    assert replace(sweep, cells=planned(4).cells).plan()["name"] != sweep.plan()["name"]
    assert isinstance(sweep, Sweep)


def test_a_sweep_runs_from_python(tmp_path):
    outcome = api.sweep(
        TOY.name, {"d": [1, 2]}, scale="tiny", seeds=2, store=tmp_path / "store.sqlite", engine=Inline()
    )
    assert outcome.statuses == {"done": 4}
