"""Several drivers on one store: no cell is computed twice, and one that dies keeps none to itself."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from karat_toys import TOY

from karat.lab import Inline, Store, Sweep, backlog, run_cells, run_sweep
from karat.lab.adaptive import Target
from karat.lab.store import verify
from karat.study.experiment import cells

DRIVER = """
import sys
from karat_toys import TOY
from karat.study.experiment import cells
from karat.lab import Inline, Store, Sweep, run_sweep
path, log, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3])
wanted = cells(TOY, "quick", seeds, {"log": log, "pause": float(sys.argv[4])})
print("ready", flush=True)
sys.stdin.readline()
with Store(path) as store:
    outcome = run_sweep(Sweep(experiment=TOY.name, scale="quick", cells=wanted), store, Inline())
print(outcome.statuses.get("done"))
"""

HOLDER = """
import sys, time
from types import SimpleNamespace
from karat.lab.store.locks import Reservations
with Reservations(sys.argv[1]) as reservations:
    assert reservations.take(SimpleNamespace(key=(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    print("taken", flush=True)
    sys.stdin.readline()
"""


def start(script, *arguments):
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def drivers(number, *arguments):
    """Drivers that begin together."""
    found = [start(DRIVER, *arguments) for _ in range(number)]
    for driver in found:
        assert driver.stdout.readline() == "ready\n"
    for driver in found:
        driver.stdin.write("\n")
        driver.stdin.flush()
    return found


def begun(log):
    return Counter(tuple(line.split()[:2]) for line in (log.read_text().splitlines() if log.exists() else []))


@pytest.fixture
def holder(store):
    """A function that starts another driver with this cell in hand."""
    started = []

    def start_holder(cell):
        started.append(start(HOLDER, store.path, *cell.key))
        assert started[-1].stdout.readline() == "taken\n"
        return started[-1]

    yield start_holder
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def meanwhile(monkeypatch):
    """A function that says what happens while a driver waits for others."""

    def replace_sleep(happens):
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=happens)
        monkeypatch.setattr(backlog, "time", clock)

    return replace_sleep


@pytest.mark.slow
def test_four_drivers_compute_no_cell_twice(tmp_path):
    path, log, seeds = tmp_path / "store.sqlite", tmp_path / "log", 50
    found = drivers(4, path, log, seeds, 0.05)
    assert [driver.communicate(timeout=300)[0].strip() for driver in found] == ["150"] * 4
    counts = begun(log)
    assert (len(counts), sum(counts.values())) == (150, 150)


@pytest.mark.slow
def test_four_drivers_with_kills_lose_nothing_and_repeat_only_what_was_cut_short(tmp_path):
    path, log, seeds, kills = tmp_path / "store.sqlite", tmp_path / "log", 100, 10
    draw = random.Random(0)
    team = drivers(4, path, log, seeds, 0.15)
    for _ in range(kills):
        time.sleep(draw.uniform(0.3, 1.5))
        victim = team.pop(draw.randrange(4))
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        team.append(start(DRIVER, path, log, seeds, 0.15))  # may be killed while it starts
        team[-1].stdin.write("\n")
        team[-1].stdin.flush()
    assert [driver.communicate(timeout=300)[0].split()[-1] for driver in team] == ["300"] * 4
    counts = begun(log)
    assert len(counts) == 300
    assert sum(counts.values()) <= 300 + kills  # a killed driver had at most one cell in hand
    assert (verify(path).records, verify(path).problems) == (300, ())


def test_a_cell_that_another_driver_finishes_while_a_sweep_begins_counts(store, tmp_path, monkeypatch):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log)})
    with Store(tmp_path / "other.sqlite") as other:
        expected = run_cells(wanted, other, workers=0)
    missing = Store.missing

    def finished_meanwhile(self, *asked):
        self.put(expected[0])
        return missing(self, *asked)

    monkeypatch.setattr(Store, "missing", finished_meanwhile)
    outcome = run_sweep(Sweep(experiment=TOY.name, scale="tiny", cells=wanted), store, Inline())
    assert outcome.statuses == {"done": len(wanted)}
    assert outcome.computed == len(wanted) - 1


def test_a_cell_in_other_hands_is_awaited_and_not_computed(store, holder, tmp_path, meanwhile):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log)})
    with Store(tmp_path / "other.sqlite") as other:
        expected = run_cells(wanted, other, workers=0)
    log.unlink()
    process = holder(wanted[0])

    def finish_elsewhere(seconds):
        """The other driver saves its record and gives the cell back, while this one has nothing to do."""
        if process.poll() is None:
            store.put(expected[0])
            process.communicate("\n", timeout=60)

    meanwhile(finish_elsewhere)
    found = run_cells(wanted, store, workers=0)
    assert [record.values for record in found] == [record.values for record in expected]
    assert set(begun(log)) == {("2", "0"), ("3", "0")}


def test_the_cell_of_a_killed_driver_is_free_at_once(store, holder, tmp_path, meanwhile):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log)})
    process = holder(wanted[0])

    def kill(seconds):
        process.kill()
        process.wait(timeout=60)

    meanwhile(kill)
    assert [record.status for record in run_cells(wanted, store, workers=0)] == ["done"] * 3
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["2", "3", "1"]


@pytest.mark.slow
def test_a_stopped_driver_does_not_keep_its_cells_for_ever(store, holder, monkeypatch):
    monkeypatch.setattr(backlog, "PATIENCE", 0.3)
    wanted = cells(TOY, "tiny", 1)
    holder(wanted[0]).send_signal(signal.SIGSTOP)
    holder(wanted[1]).send_signal(signal.SIGSTOP)
    assert [record.status for record in run_cells(wanted, store, workers=0)] == ["done"] * 3


def test_long_cells_of_another_driver_are_waited_for_longer(store, holder, make_record, meanwhile):
    """A cell that took an hour is not begun again after a minute."""
    (cell,) = cells(TOY, "tiny", 1, {"d": 1})
    store.put(make_record(TOY.name, config={"d": 9}, seconds=3600.0))
    holder(cell)
    looks = []

    def pass_a_minute(seconds):
        looks.append(seconds)
        backlog.time.monotonic = lambda: 60.0 * len(looks) + start

    start = time.monotonic()
    meanwhile(pass_a_minute)
    assert run_cells([cell], store, workers=0)[0].status == "done"
    assert len(looks) == 601  # ten hours, and a minute


def test_an_adaptive_sweep_goes_on_with_what_another_driver_has_found(store, holder, tmp_path, meanwhile):
    log = tmp_path / "log"
    target = Target(value="threads", level=0.5, least=2)
    wanted = cells(TOY, "tiny", 2, {"log": str(log), "d": 1})
    sweep = Sweep(experiment=TOY.name, scale="tiny", cells=wanted, target=target)
    with Store(tmp_path / "other.sqlite") as other:
        first = run_cells(wanted[:1], other, workers=0)[0]
    log.unlink()
    process = holder(wanted[0])

    def finish_elsewhere(seconds):
        with suppress(BrokenPipeError):
            store.put(first)
            process.communicate("\n", timeout=60)

    meanwhile(finish_elsewhere)
    outcome = run_sweep(sweep, store, Inline())
    assert outcome.statuses == {"done": 2}
    assert set(begun(log)) == {("1", "1")}


def test_reservations_go_by_the_file_and_not_by_its_name(store, holder, tmp_path, monkeypatch, meanwhile):
    monkeypatch.setattr(backlog, "PATIENCE", 0.3)
    (cell,) = cells(TOY, "tiny", 1, {"d": 1})
    holder(cell)
    link = tmp_path / "link.sqlite"
    link.symlink_to(store.path)
    looks = []
    meanwhile(looks.append)
    with Store(link) as same:
        run_cells([cell], same, workers=0)
    assert looks
