"""One sweep in a folder of its own, the processes that work on it, and what has become of its records."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from karat.lab import Store, run_cells
from karat.study.experiment import cells

HERE = Path(__file__).parent
PATIENCE = 120.0
"""Seconds after which a process that does nothing new counts as hanging."""

Place = tuple[int, int]
"""A cell of the sweep: x and seed."""


class Driver:
    """A driver and, with the time it was told, every record it says it has saved."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.saved: dict[Place, float] = {}
        self.source = ""
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith("\n"):
                return
            if self.source:
                x, seed = line.split()
                self.saved[int(x), int(seed)] = time.time()
            else:
                self.source = line.strip()

    def kill(self) -> None:
        self.process.kill()

    def wait(self) -> str | None:
        """What it said at its end; None if it hangs."""
        try:
            self.process.wait(PATIENCE)
            hangs = False
        except subprocess.TimeoutExpired:
            hangs = True
            self.kill()
            self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        with self.process.stdout, self.process.stderr as errors:
            return None if hangs else errors.read().strip()


class Trial:
    """A copy of the sweep, its store and its log."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="karat-faults-"))
        self.code = self.folder / "fault_cells.py"
        shutil.copy(HERE / "fault_cells.py", self.code)
        self.store, self.log = self.folder / "store.sqlite", self.folder / "log"
        self.shifts: dict[str, float] = {}
        self.saved: dict[Place, float] = {}
        self.count: Counter[str] = Counter()

    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry != str(HERE))}

    def start(self, engine: str = "local", shift: float = 0.0) -> Driver:
        command = [sys.executable, str(self.code), str(self.store), str(self.log), engine]
        driver = Driver(command, self.environment())
        self.until(lambda: driver.source, driver)
        self.shifts[driver.source] = shift
        return driver

    def until(self, condition: Callable[[], object], *drivers: Driver) -> None:
        """Wait for something to happen, or for all drivers to end."""
        deadline = time.monotonic() + PATIENCE
        while not condition() and any(driver.process.poll() is None for driver in drivers):
            if time.monotonic() > deadline:
                self.count["hangs"] += 1
                return
            time.sleep(0.01)

    def end(self, *drivers: Driver) -> list[str]:
        """Wait for drivers that should end now; return what they said."""
        words = [driver.wait() for driver in drivers]
        self.count["hangs"] += words.count(None)
        for driver in drivers:
            self.saved |= driver.saved
        return [word or "" for word in words]

    def workers(self) -> list[int]:
        """Processes that have computed cells, the latest last."""
        return [int(line[2]) for line in self.begun()]

    def begun(self) -> list[list[str]]:
        text = self.log.read_text() if self.log.exists() else ""
        return [line.split() for line in text.splitlines()]

    def edit(self) -> None:
        self.code.write_text(self.code.read_text().replace("SHIFT = 0.0", "SHIFT = 1000.0"))

    def finish(self, engine: str = "local", *, since: float = 0.0) -> Counter[str]:
        """Complete the sweep undisturbed, then count what is lost, wrong, computed again or left behind.

        Args:
            engine: what completes it.
            since: records saved before this time may be gone.
        """
        self._count_lost(since)
        shift = 1000.0 if "SHIFT = 1000.0" in self.code.read_text() else 0.0
        last = self.start(engine, shift)
        if self.end(last) != [""]:
            self.count["hangs"] += 1
        self._count_lost(since)
        self._count_wrong()
        for x, seed, _, began in self.begun():
            saved = self.saved.get((int(x), int(seed)), float("inf"))
            self.count["duplicates"] += saved < float(began) and saved >= since
        self._count_left_behind()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.count

    def _stored(self) -> dict[Place, tuple[float, str]]:
        with Store(self.store) as store:
            found = [record for record in store.records() if record.status == "done"]
        return {(r.config["x"], r.seed): (r.values["value"], r.source) for r in found}

    def _count_lost(self, since: float) -> None:
        there = self._stored()
        gone = {place for place, told in self.saved.items() if told >= since and place not in there}
        self.count["lost"] += len(gone)
        self.saved = {place: told for place, told in self.saved.items() if place not in gone}

    def _count_wrong(self) -> None:
        there, right = self._stored(), reference()
        self.count["lost"] += len(right.keys() - there.keys())
        for place, (value, source) in there.items():
            self.count["wrong"] += value != right[place].get(self.shifts.get(source, -1.0))

    def _count_left_behind(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while any(map(is_alive, self.workers())) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in filter(is_alive, set(self.workers())):
            self.count["hangs"] += 1
            os.kill(process, signal.SIGKILL)


_REFERENCE: dict[Place, dict[float, float]] = {}


def reference() -> dict[Place, dict[float, float]]:
    """The right value of every cell by the shift of the code, computed undisturbed in this process."""
    if not _REFERENCE:
        import fault_cells

        with tempfile.TemporaryDirectory() as folder:
            wanted = cells(fault_cells.CELLS, "tiny", overrides={"log": f"{folder}/log", "seconds": 0.0})
            for shift in (0.0, 1000.0):
                fault_cells.SHIFT = shift
                with Store(Path(folder) / f"{shift}.sqlite") as store:
                    for record in run_cells(wanted, store, workers=0):
                        place = (record.config["x"], record.seed)
                        _REFERENCE.setdefault(place, {})[shift] = record.values["value"]
    return _REFERENCE


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def total(counts: Iterable[Counter[str]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for count in counts:
        summed.update(count)
    return summed
