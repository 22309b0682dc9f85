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

from karat.lab import Dask, Store, WorkerError, child, cluster, run_cells, scheduler
from karat.study.experiment import cells

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


@pytest.mark.slow
def test_a_cluster_started_by_hand_gives_the_bits_of_this_process(store, tmp_path, hand_made):
    wanted = cells(TOY, "tiny", 2, {"mode": "raise"}) + cells(TOY, "tiny", 1, {"mode": "diverge", "tau": 0.2})
    found = run_cells(wanted, store, engine=Dask(hand_made.address))
    assert [record.status for record in found].count("failed") == 2
    assert values(found) == undisturbed(wanted, tmp_path)
    assert {record.environment["threads"] for record in found} == {1}
    assert store.missing(wanted) == [
        cell for cell in wanted if cell.config.mode == "raise" and cell.config.d == 2
    ]


@pytest.mark.slow
def test_a_child_killed_in_the_middle_of_a_cell_costs_nothing_but_time(store, tmp_path, hand_made, killing):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 2, {"log": str(log), "pause": 0.3})
    killing(log, 3, lambda seen: int(seen[2].split()[2]))
    found = run_cells(wanted, store, engine=Dask(hand_made.address))
    assert [record.status for record in found] == ["done"] * 6
    assert values(found) == undisturbed(wanted, tmp_path)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_cluster_of_its_own_needs_no_services(store, tmp_path):
    wanted = cells(TOY, "tiny", 1, {"mode": "odd"})
    found = run_cells(wanted, store, engine=Dask(workers=1))
    assert values(found) == undisturbed(wanted, tmp_path)


def test_a_scheduler_that_is_not_there_is_one_line(store, monkeypatch):
    monkeypatch.setattr(scheduler, "CONNECT", 1.0)
    with pytest.raises(WorkerError, match=r"^the Dask scheduler tcp://127.0.0.1:9 cannot be reached\.$"):
        run_cells(cells(TOY, "tiny", 1), store, engine=Dask("tcp://127.0.0.1:9"))


@pytest.mark.parametrize(
    "address",
    ["", "nonsense", "tcp://", "http://h:8786", "tls://h:8786", "ucx://h:8786", "tcp://h", "tcp://h:port"],
)
def test_what_is_no_address_is_refused_at_once(address):
    with pytest.raises(ValueError, match=r"must be tcp://HOST:PORT, got '") as caught:
        Dask(address)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_cluster_without_workers_is_mentioned_and_the_cells_wait(store, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "NO_WORKERS", 0.1)
    empty = Cluster(tmp_path)
    said = []

    def start_one(text):
        said.append(text)
        empty.add_worker()

    try:
        found = run_cells(cells(TOY, "tiny", 1), store, engine=Dask(empty.address, say=start_one))
    finally:
        empty.close()
    assert [record.status for record in found] == ["done"] * 3
    (line,) = said
    assert line == (
        f"the Dask scheduler {empty.address} has no workers; the cells wait until there is one, "
        f"`dask worker {empty.address}` starts it."
    )


@pytest.mark.slow
def test_a_cell_beyond_the_limit_is_stopped_on_the_cluster(store, hand_made):
    slow = cells(TOY, "tiny", 1, {"d": 2, "pause": 600.0})
    found = run_cells([*slow, *cells(TOY, "tiny", 1)], store, engine=Dask(hand_made.address, limit=2.0))
    assert [record.status for record in found] == ["failed", "done", "done", "done"]
    assert found[0].error == "stopped after 0:00:02, the limit per cell."


DRIVER = """
import sys
from karat_toys import TOY
from karat.study.experiment import cells
from karat.lab import Dask, Store, run_cells
with Store(sys.argv[1]) as store:
    run_cells(cells(TOY, "tiny", 1, {"log": sys.argv[2], "pause": 600}), store, engine=Dask(sys.argv[3]))
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to watch processes")
def test_the_children_of_a_killed_driver_end(tmp_path, hand_made):
    log = tmp_path / "log"
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    arguments = [tmp_path / "store.sqlite", log, hand_made.address]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *map(str, arguments)], env=os.environ | {"PYTHONPATH": path}
    )
    wait_until(lambda: len(lines(log)) == 2)
    children = [line.split()[2] for line in lines(log)]
    assert all(map(alive, children))
    driver.kill()
    driver.wait()
    wait_until(lambda: not any(map(alive, children)))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc to see open ports")
def test_a_cluster_of_its_own_listens_on_this_machine_only():
    with scheduler.connected(None, 1):
        links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        own = {link[8:-1] for link in links if link.startswith("socket:[")}
        text = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
        rows = [line.split() for line in text.splitlines()]
        heard = {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in own}
    assert heard <= {"0100007F", "00000000000000000000000001000000"}


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
