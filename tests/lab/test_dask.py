"""The Dask engine: clusters started by hand and by itself, the same bits everywhere, every loss survived."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from karat_toys import TOY

from karat.experiments.experiment import cells
from karat.lab import Dask, Store, WorkerError, child, run_cells, scheduler

pytest.importorskip("distributed", reason="dask is not installed (extra `dist`)")

PATIENCE = 240.0
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it does not come along"
        time.sleep(0.05)


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def values(records):
    return [(record.key, record.status, record.to_dict()["values"], record.error) for record in records]


class Cluster:
    """A scheduler and workers as users start them, `dask scheduler` and `dask worker`, in a folder."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "scheduler.json"
        self.workers = []
        # A test run that is killed leaves nothing behind for long: idle schedulers end, then their workers.
        ports = ("--port", "0", "--dashboard-address", ":0")
        self.scheduler = self._start("scheduler", *ports, "--idle-timeout", "300s")
        wait_until(lambda: self.file.exists() and self.file.read_text().rstrip().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, *arguments):
        command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(self.file)]
        # The workers know nothing of the tests' folder: the driver tells them where the toys lie.
        with (self.folder / "log.txt").open("a") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    def add_worker(self):
        self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"))

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def hand_made(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    for _ in range(2):
        made.add_worker()
    yield made
    made.close()


@pytest.fixture
def killing(tmp_path):
    """Kill what a function of the log's lines names as soon as there are so many of them."""
    threads = []

    def start(log, count, target):
        def wait_and_kill():
            wait_until(lambda: len(lines(log)) >= count)
            os.kill(target(lines(log)), signal.SIGKILL)

        threads.append(threading.Thread(target=wait_and_kill))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


def undisturbed(wanted, folder):
    with Store(folder / "undisturbed.sqlite") as store:
        return values(run_cells(wanted, store, workers=0))


def test_a_cluster_started_by_hand_gives_the_bits_of_this_process(store, tmp_path, hand_made):
    wanted = cells(TOY, "tiny", 2, {"mode": "raise"}) + cells(TOY, "tiny", 1, {"mode": "diverge", "tau": 0.2})
    found = run_cells(wanted, store, engine=Dask(hand_made.address))
    assert [record.status for record in found].count("failed") == 2
    assert values(found) == undisturbed(wanted, tmp_path)
    assert {record.environment["threads"] for record in found} == {1}
    assert store.missing(wanted) == [
        cell for cell in wanted if cell.config.mode == "raise" and cell.config.d == 2
    ]


def test_a_child_killed_in_the_middle_of_a_cell_costs_nothing_but_time(store, tmp_path, hand_made, killing):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 2, {"log": str(log), "pause": 0.3})
    killing(log, 3, lambda seen: int(seen[2].split()[2]))
    found = run_cells(wanted, store, engine=Dask(hand_made.address))
    assert [record.status for record in found] == ["done"] * 6
    assert values(found) == undisturbed(wanted, tmp_path)


def test_a_lost_worker_hands_its_cell_to_another(store, tmp_path, hand_made, killing):
    log = tmp_path / "log"
    victim = hand_made.workers.pop()
    wanted = cells(TOY, "tiny", 3, {"log": str(log), "pause": 0.5})
    killing(log, 3, lambda seen: victim.pid)
    found = run_cells(wanted, store, engine=Dask(hand_made.address))
    victim.wait()
    hand_made.add_worker()
    assert [record.status for record in found] == ["done"] * 9
    assert values(found) == undisturbed(wanted, tmp_path)


def test_a_lost_scheduler_is_one_line_and_the_same_cells_resume_elsewhere(store, tmp_path, killing):
    log = tmp_path / "log"
    own = Cluster(tmp_path)
    own.add_worker()
    wanted = cells(TOY, "tiny", 4, {"log": str(log), "pause": 0.3})
    killing(log, 4, lambda seen: own.scheduler.pid)
    with pytest.raises(WorkerError, match=r"scheduler tcp://\S+ is lost; finished cells are kept") as caught:
        run_cells(wanted, store, engine=Dask(own.address))
    own.close()
    assert "\n" not in str(caught.value)
    kept = len(wanted) - len(store.missing(wanted))
    assert 2 <= kept < len(wanted)
    assert values(run_cells(wanted, store, workers=0)) == undisturbed(wanted, tmp_path)


def test_a_cluster_of_its_own_needs_no_services(store, tmp_path):
    wanted = cells(TOY, "tiny", 1, {"mode": "odd"})
    found = run_cells(wanted, store, engine=Dask(workers=1))
    assert values(found) == undisturbed(wanted, tmp_path)


def test_a_scheduler_that_is_not_there_is_one_line(store, monkeypatch):
    monkeypatch.setattr(scheduler, "CONNECT", 1.0)
    with pytest.raises(WorkerError, match=r"^the Dask scheduler tcp://127.0.0.1:9 cannot be reached\.$"):
        run_cells(cells(TOY, "tiny", 1), store, engine=Dask("tcp://127.0.0.1:9"))


def test_children_that_cannot_start_are_one_line(store, monkeypatch):
    monkeypatch.setattr(child, "COMMAND", [sys.executable, "-c", "raise SystemExit('no torch here')"])
    message = r"^worker processes cannot start on the Dask cluster: no torch here\.$"
    with pytest.raises(WorkerError, match=message):
        run_cells(cells(TOY, "tiny", 1), store, engine=Dask(workers=1))


def test_without_dask_the_extra_is_named(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WorkerError, match=r"needs `pip install 'karat\[dist\]'`"):
        run_cells(cells(TOY, "tiny", 1), store, engine=Dask())


def test_hosts_of_a_cluster_load_no_torch():
    code = "import sys, karat.lab.host; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path("/")).returncode == 0
