import math
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from karat_toys import TOY

from karat.lab import Local, Store, WorkerError, child, run_cells
from karat.lab.execute import execute, one_thread
from karat.lab.protocol import READY, request
from karat.lab.runner import cores
from karat.study.experiment import Cell, cells


class Listener:
    def __init__(self):
        self.heard = []

    def start(self, total, done):
        self.heard.append((total, done))

    def advance(self, record):
        self.heard.append(record.status)

    def stop(self):
        self.heard.append("stop")


def toy_cells(log="", **modes):
    """One cell per name: its d, and the mode that happens there."""
    base = cells(TOY, "tiny")[0].config
    return [
        Cell(TOY.name, replace(base, d=d, at=d, mode=mode.replace("_", " "), log=str(log)), 0)
        for d, mode in enumerate(modes, start=1)
    ]


def results(records):
    return [(record.key, record.status, record.to_dict()["values"], record.error) for record in records]


def test_a_cell_that_fails_or_diverges_is_recorded_and_the_sweep_goes_on(store):
    wanted = toy_cells(ok=1, **{"raise": 1}, diverge=1, tensor=1)
    done, failed, diverged, tensor = run_cells(wanted, store, workers=0)
    assert (done.status, done.error) == ("done", None)
    assert (failed.status, failed.error) == ("failed", "RuntimeError: no luck with this one")
    assert (diverged.status, diverged.error) == (
        "diverged",
        "training diverged at step 7: the loss is nan.",
    )
    assert tensor.status == "failed"
    assert tensor.error.startswith("TypeError: a value of type Tensor is not plain JSON")
    assert store.missing(wanted) == [wanted[1], wanted[3]]


def test_a_cell_that_asks_for_too_much_memory_says_so_in_words_of_its_own(store):
    (vast,) = run_cells(toy_cells(vast=1), store, workers=0)
    assert vast.status == "failed"
    assert vast.error == "MemoryError: these settings need more memory than this machine has."


def test_only_missing_cells_are_computed(store, tmp_path):
    log = tmp_path / "log"
    wanted = toy_cells(log, ok=1, **{"raise": 1}, diverge=1)
    first = run_cells(wanted, store, workers=0)
    listener = Listener()
    second = run_cells(wanted, store, workers=0, progress=listener)
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["1", "2", "3", "2", "2", "2"]
    assert results(first) == results(second)
    assert listener.heard == [(3, 2), "failed", "stop"]


def test_a_fresh_record_equals_the_stored_one(store):
    (wanted,) = toy_cells(odd=1)
    (fresh,) = run_cells([wanted], store, workers=0)
    assert fresh.to_json() == store.get(wanted).to_json()
    assert fresh.values["infinite"] == math.inf
    assert fresh.values["unknown"] is None
    assert math.copysign(1, fresh.values["zero"]) == 1


def test_an_infinity_that_is_not_declared_is_divergence_and_not_computed_again(store):
    (wanted,) = toy_cells(wild=1)
    (record,) = run_cells([wanted], store, workers=0)
    assert (record.status, record.error) == ("diverged", "`loss` is inf.")
    assert record.values["mean"] == 1.5  # what was measured is kept
    assert store.missing([wanted]) == []


def test_repeated_cells_are_computed_once_and_returned_each_time(store, tmp_path):
    log = tmp_path / "log"
    (wanted,) = toy_cells(log, ok=1)
    records = run_cells([wanted, wanted], store, workers=0)
    assert results(records[:1]) == results(records[1:])
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.slow
def test_workers_give_the_bits_of_this_process_and_survive_dying_cells(tmp_path):
    modes = {"ok": 1, "raise": 1, "die": 1, "diverge": 1, "die_once": 1, "odd": 1}
    with Store(tmp_path / "workers.sqlite") as store:
        # Only a cell whose worker dies needs the log: it remembers the first attempt.
        found = run_cells(toy_cells(tmp_path / "log", **modes), store, workers=2)
    dead, reborn = found.pop(2), found.pop(3)
    assert (dead.status, dead.error) == ("failed", "the worker process died 2 times: ended by SIGKILL.")
    assert reborn.status == "done"
    runs = [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()]
    assert (runs.count("3"), runs.count("5"), runs.count("1")) == (2, 2, 1)

    same = [
        cell for cell in toy_cells(tmp_path / "log", **modes) if cell.config.mode not in ("die", "die once")
    ]
    with Store(tmp_path / "inline.sqlite") as store:
        assert results(run_cells(same, store, workers=0)) == results(found)


def test_workers_that_cannot_start_are_one_line(store, monkeypatch):
    monkeypatch.setattr(child, "COMMAND", [sys.executable, "-c", "raise SystemExit('no torch here')"])
    with pytest.raises(WorkerError, match=r"^worker processes cannot start: no torch here\.$"):
        run_cells(toy_cells(ok=1), store, workers=1)


def test_an_interrupted_sweep_keeps_its_finished_cells(store):
    class Impatient(Listener):
        def advance(self, record):
            raise KeyboardInterrupt

    wanted = toy_cells(ok=1, diverge=1, odd=1)
    listener = Impatient()
    with pytest.raises(KeyboardInterrupt):
        run_cells(wanted, store, workers=0, progress=listener)
    assert store.missing(wanted) == wanted[1:]
    assert listener.heard[-1] == "stop"


def test_every_cell_runs_on_one_thread_and_the_threads_come_back(store):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        (record,) = run_cells(toy_cells(ok=1), store, workers=0)
        assert record.values["threads"] == record.environment["threads"] == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(RuntimeError, match="inside"), one_thread():
            raise RuntimeError("inside")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_record_knows_its_cost_and_its_environment():
    record = execute(toy_cells(ok=1)[0])
    assert record.cpu_seconds > 0
    assert record.peak_memory_mb > 10
    assert set(record.environment) == {
        "python",
        "torch",
        "numpy",
        "scipy",
        "numba",
        "clarabel",
        "threads",
        "machine",
        "vector",
        "blas",
    }


@pytest.mark.parametrize("workers", [-1, 1.5, True])
def test_a_senseless_number_of_workers_is_refused(store, workers):
    with pytest.raises(ValueError, match="`workers` must be a whole number >= 0"):
        run_cells(toy_cells(ok=1), store, workers=workers)


def test_cores_are_those_this_process_may_use():
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.slow
def test_a_cell_beyond_the_limit_is_stopped_and_recorded_and_the_others_go_on(store, tmp_path):
    log = tmp_path / "log"
    fast, slow = (cells(TOY, "tiny", 2, {"d": d, "log": str(log), "pause": pause}) for d, pause in pauses())
    found = run_cells([*slow[:1], *fast], store, engine=Local(1, limit=2.0))
    assert [record.status for record in found] == ["failed", "done", "done"]
    assert found[0].error == "stopped after 0:00:02, the limit per cell."
    assert [line.split()[0] for line in log.read_text().splitlines()].count("2") == 1  # not tried again


def pauses():
    return (1, 0.0), (2, 600.0)


def test_a_worker_leaves_at_once_when_its_driver_dies_after_handing_over_a_cell(tmp_path):
    log = tmp_path / "log"
    (cell,) = cells(TOY, "tiny", 1, {"d": 1, "log": str(log), "pause": 600.0})
    path = os.pathsep.join(sys.path)
    worker = subprocess.Popen(
        child.COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert worker.stdout.readline() == f"{READY}\n"
    # The cell and the end of the driver arrive together.
    worker.communicate(request(cell) + "\n", timeout=120)
    assert worker.returncode == 1
