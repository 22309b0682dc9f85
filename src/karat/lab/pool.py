"""Worker processes that compute cells side by side and may die without taking the sweep with them."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import IO

from karat.experiments.experiment import Cell
from karat.experiments.record import Record
from karat.lab.execute import THREADS, failure

ATTEMPTS = 2
"""A cell whose worker dies (out of memory, killed) is tried once more in a fresh one."""

READY = "ready"
"""First line of a worker, once it has loaded karat."""

_COMMAND = [sys.executable, "-P", "-c", "from karat.lab.worker import main; main()"]
_POOLS = ("OMP", "MKL", "OPENBLAS", "NUMBA", "VECLIB")


class WorkerError(RuntimeError):
    """Worker processes cannot be started at all; the message is one line."""


def compute(cells: Sequence[Cell], workers: int) -> Generator[Record, None, None]:
    """Yield the record of every cell as soon as it is finished, in the order of finishing.

    The workers end when the iterator is exhausted, closed or interrupted. They are fresh interpreters that do
    not import the caller's main module, so scripts need no `__main__` guard.
    """
    waiting = deque(cells)
    deaths: Counter[tuple[str, str, int]] = Counter()
    inbox: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
    team: set[_Worker] = set()
    false_starts = 0
    try:
        while waiting or any(worker.cell for worker in team):
            while waiting and len(team) < workers:
                team.add(_Worker(inbox, waiting.popleft()))
            worker, line = inbox.get()
            if line == READY:
                worker.ready, false_starts = True, 0
            elif line is not None:
                # The next cell before the record: the worker goes on while the driver saves.
                worker.give(waiting.popleft() if waiting else None)
                yield Record.from_json(line)
            else:
                team.remove(worker)
                cell, reason = worker.cell, worker.end()
                false_starts += not worker.ready
                if false_starts >= ATTEMPTS:
                    raise WorkerError(f"worker processes cannot start: {reason}.")
                if cell is None:
                    continue
                deaths[cell.key] += worker.ready
                if deaths[cell.key] < ATTEMPTS:
                    waiting.appendleft(cell)
                else:
                    yield failure(cell, f"the worker process died {ATTEMPTS} times: {reason}.")
    finally:
        for worker in team:
            worker.end()


class _Worker:
    """One process, the cell it has in hand, and the thread that listens to it."""

    def __init__(self, inbox: "queue.Queue[tuple[_Worker, str | None]]", cell: Cell) -> None:
        self.cell: Cell | None = None
        self.ready = False
        self._inbox = inbox
        debug = bool(os.environ.get("KARAT_DEBUG"))
        self._errors: IO[bytes] | None = None if debug else tempfile.TemporaryFile()  # noqa: SIM115, closed by `end`
        self._process = subprocess.Popen(
            _COMMAND,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            # Out of the terminal's group: Ctrl-C is for the driver, which ends its workers.
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.give(cell)

    def give(self, cell: Cell | None) -> None:
        """Hand over the next cell; a dead worker says so through the inbox."""
        self.cell = cell
        if cell is None or self._process.stdin is None:
            return
        request = {"experiment": cell.experiment, "config": cell.config_json, "seed": cell.seed}
        with suppress(OSError):
            self._process.stdin.write(json.dumps(request, allow_nan=False) + "\n")
            self._process.stdin.flush()

    def end(self) -> str:
        """End the process at once, it holds nothing worth saving; return why it had died if it was dead."""
        self._process.kill()
        code = self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        words = self._last_words()
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        return words or f"exit code {code}"

    def _listen(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                self._inbox.put((self, line.strip()))
        self._process.wait()
        self._inbox.put((self, None))

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        with self._errors as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 2000))
            lines = stream.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "").rstrip(".")


def _environment() -> dict[str, str]:
    """The threads must be known before torch is loaded; the path makes the caller's modules importable."""
    threads = {f"{pool}_NUM_THREADS": str(THREADS) for pool in _POOLS}
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return os.environ | threads | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
