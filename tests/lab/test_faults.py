"""Faults in the middle of a sweep: killed workers, a locked, full or damaged store, a second driver."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from karat_toys import TOY

from karat.lab import Local, Store, StoreError, run_cells
from karat.lab.store import file as store_file
from karat.study.experiment import cells

PATIENCE = 180.0

DRIVER = """
import sys
from karat_toys import TOY
from karat.study.experiment import cells
from karat.lab import Store, run_cells
wanted = cells(TOY, "quick", 10, {"log": sys.argv[2], "pause": 0.1})
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    print(len(run_cells(wanted, store, workers=0)))
"""

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""

SMALL_DISK = """
import resource, sys
from karat.study.record import Record
from karat.lab import Store, StoreError
with Store(sys.argv[1]) as store:
    for seed in range(10000):
        if seed == 20:
            resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))
        try:
            store.put(Record(experiment="toy", config={}, seed=seed, status="done", values={"x": [0.5] * 400},
                             error=None, cpu_seconds=0.0, version="0", environment={}))
        except StoreError as error:
            print(seed, error)
            break
"""


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it does not come along"
        time.sleep(0.02)


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def values(records):
    return [(record.key, record.status, record.values, record.error) for record in records]


def script(text, *arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_cell_costs_nothing_but_time(store, tmp_path):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 2, {"log": str(log), "pause": 0.3})

    def kill():
        wait_until(lambda: len(lines(log)) >= 3)
        os.kill(int(lines(log)[2].split()[2]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = run_cells(wanted, store, engine=Local(1))
    killer.join()
    assert [record.status for record in found] == ["done"] * 6
    assert len({line.split()[2] for line in lines(log)}) == 2
    with Store(tmp_path / "undisturbed.sqlite") as other:
        assert values(run_cells(wanted, other, workers=0)) == values(found)


def test_a_cell_that_always_fails_is_tried_again_and_the_sweep_goes_on(store, tmp_path):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log), "mode": "raise"})
    found = run_cells(wanted, store, workers=0)
    assert [record.status for record in found] == ["done", "failed", "done"]
    assert found[1].error == "RuntimeError: no luck with this one"
    assert [line.split()[0] for line in lines(log)] == ["1", "2", "3", "2"]


@pytest.mark.slow
def test_two_drivers_share_the_work_and_lose_nothing(tmp_path):
    path, log = tmp_path / "store.sqlite", tmp_path / "log"
    Store(path).close()
    drivers = [script(DRIVER, path, log) for _ in range(2)]
    for driver in drivers:  # both wait until both have loaded torch
        assert driver.stdout.readline() == "ready\n"
    for driver in drivers:
        driver.stdin.write("\n")
        driver.stdin.flush()
    assert [driver.communicate(timeout=PATIENCE)[0].strip() for driver in drivers] == ["30", "30"]
    begun = [tuple(line.split()[:2]) for line in lines(log)]
    assert len(set(begun)) == 30
    assert len(begun) == 30  # no cell twice
    wanted = cells(TOY, "quick", 10, {"log": str(log), "pause": 0.1})
    with Store(path) as store:
        assert store.missing(wanted) == []


def test_what_another_driver_finished_meanwhile_is_not_computed_again(store, tmp_path):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log)})
    with Store(tmp_path / "other.sqlite") as other:
        done = run_cells(wanted, other, workers=0)

    class Meddler:
        def start(self, total, done):
            pass

        def advance(self, record):
            store.put(done[-1])  # the other driver works from the back

        def stop(self):
            pass

    found = run_cells(wanted, store, workers=0, progress=Meddler())
    assert values(found) == values(done)
    assert len(lines(log)) == 3 + 2


def test_a_store_locked_for_long_is_one_line_and_the_record_is_kept(tmp_path, monkeypatch, make_record):
    path = tmp_path / "store.sqlite"
    monkeypatch.setattr(store_file, "PATIENCE", 0.2)
    with Store(path) as store:
        store.put(make_record())
        holder = script(HOLDER, path)
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(StoreError, match="another program has kept the store locked") as caught:
            store.put(make_record(seed=1))
        assert "The last record is kept in store.sqlite.rescued-" in str(caught.value)
        assert "\n" not in str(caught.value)
        holder.communicate("\n", timeout=PATIENCE)
    with Store(path) as store:
        assert [record.seed for record in store.records()] == [0, 1]
    assert list(tmp_path.glob("*.rescued*")) == []


def test_a_locked_store_is_waited_for(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        holder = script(HOLDER, path)
        assert holder.stdout.readline() == "locked\n"
        threading.Timer(0.3, lambda: holder.communicate("\n")).start()
        store.put(make_record())
        assert store.records() == [make_record()]
    holder.wait(timeout=PATIENCE)


def test_rescued_lines_that_are_cut_off_are_skipped(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    Store(path).close()
    text = make_record().to_json() + "\n" + make_record(seed=1).to_json()[:50]
    path.with_name("store.sqlite.rescued.jsonl").write_text(text)
    with Store(path) as store:
        assert store.records() == [make_record()]


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on the size of files")
def test_a_full_disk_is_one_line_and_keeps_every_record_put(tmp_path):
    path = tmp_path / "store.sqlite"
    said = script(SMALL_DISK, path).communicate(timeout=PATIENCE)[0].strip()
    assert "\n" not in said
    stopped, message = said.split(maxsplit=1)
    assert "the disk" in message
    with Store(path) as store:
        assert {record.seed for record in store.records()} >= set(range(int(stopped)))


def test_a_store_damaged_in_the_middle_of_a_sweep_is_one_line_and_left_as_it_is(tmp_path):
    path = tmp_path / "store.sqlite"
    wanted = cells(TOY, "tiny", 1)
    with Store(path) as store:
        run_cells(wanted[:1], store, workers=0)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
    broken = path.read_bytes()[:2000] + b"\xff" * 40000
    path.write_bytes(broken)
    with pytest.raises(StoreError) as caught, Store(path) as store:
        run_cells(wanted, store, workers=0)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == broken


def test_a_finished_cell_survives_a_later_failure_of_its_fresh_run(store):
    (cell,) = cells(TOY, "tiny", 1, {"d": 1})
    (done,) = run_cells([cell], store, workers=0)
    store.put(replace(done, status="failed", values={}, error="late", source="other"))
    assert store.get(cell).status == "done"
