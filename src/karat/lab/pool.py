"""Worker processes of this machine that compute cells side by side and may die without ending the sweep."""

import queue
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass

from karat.errors import WorkerError
from karat.lab.child import Child
from karat.lab.engine import ATTEMPTS, Feed, Retries
from karat.lab.execute import failure
from karat.lab.protocol import BEGUN, LOADING, READY, read_answer, request
from karat.lab.watch import Say, Watch, over_limit, unheard
from karat.study.experiment import Cell
from karat.study.record import Record

_TICK = 1.0
"""Seconds between looks at the clock while no worker answers."""


@dataclass(frozen=True)
class Local:
    """Computes in processes of their own, no services needed.

    They are fresh interpreters that do not import the caller's main module, so scripts need no `__main__`
    guard.

    Args:
        workers: number of processes, each on one thread.
        limit: seconds after which a cell is stopped and counts as failed, None for no limit.
        say: told in one sentence of a cell that runs unusually long.
    """

    workers: int
    limit: float | None = None
    say: Say = unheard

    def compute(self, feed: Feed) -> Generator[Record, None, None]:
        """Yield the record of every cell as soon as it is finished, in the order of finishing."""
        team = _Team(self, Retries(feed))
        try:
            while team.at_work():
                with suppress(queue.Empty):
                    worker, line = team.inbox.get(timeout=_TICK)
                    record = team.lost(worker) if line is None else team.heard(worker, line)
                    if record is not None:
                        yield record
                team.look()
        finally:
            team.end()


class _Team:
    """The workers, the cells they have in hand and the time they take."""

    def __init__(self, engine: Local, cells: Retries) -> None:
        self._engine, self._cells = engine, cells
        self.inbox: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
        self._watch = Watch(engine.say)
        self._workers: set[_Worker] = set()
        self._false_starts = 0

    def at_work(self) -> bool:
        """Hand cells to idle and new workers; return whether any of them is at work."""
        for worker in [worker for worker in self._workers if worker.cell is None]:
            self._give(worker, self._cells())
        while len(self._workers) < self._engine.workers and (cell := self._cells()) is not None:
            worker = _Worker(self.inbox)
            self._workers.add(worker)
            self._give(worker, cell)
        return any(worker.cell for worker in self._workers)

    def heard(self, worker: "_Worker", line: str) -> Record | None:
        """Take a line of a worker; return the record in it unless the cell is tried again."""
        done = worker.cell
        if line == READY:
            worker.ready, self._false_starts = True, 0
            return None
        if done is None:
            return None
        if line == BEGUN:
            worker.begun = True
            self._watch.begin(done)  # loading is not the cell's time
            return None
        record = read_answer(line, done)
        self._watch.end(done)
        # The next cell before the record is yielded: the worker goes on while the driver saves.
        self._give(worker, self._cells())
        return record if record.finished or not self._cells.again(done) else None

    def lost(self, worker: "_Worker") -> Record | None:
        """Bury a dead worker; return the record of a cell that is given up with it."""
        self._workers.remove(worker)
        cell, reason = worker.cell, worker.end()
        self._false_starts += not worker.ready
        if self._false_starts >= ATTEMPTS:
            raise WorkerError(f"worker processes cannot start: {reason}.")
        if cell is None:
            return None
        self._watch.end(cell, finished=False)
        if cell is worker.stopped and self._engine.limit is not None:
            return failure(cell, over_limit(self._engine.limit))
        if self._cells.again(cell, blame=worker.ready):
            return None
        return failure(cell, f"the worker process died {ATTEMPTS} times: {reason}.")

    def look(self) -> None:
        """Mention cells that run unusually long, stop those beyond the limit."""
        self._watch.look()
        limit = self._engine.limit
        for worker in self._workers:
            if limit is not None and worker.cell and worker.ready:
                allowed = limit if worker.begun else limit + LOADING
                if self._watch.age(worker.cell) > allowed:
                    worker.stop()

    def end(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.end()

    def _give(self, worker: "_Worker", cell: Cell | None) -> None:
        worker.give(cell)
        if cell is not None:
            self._watch.begin(cell)


class _Worker:
    """A child, the cell it has in hand, and the thread that listens to it."""

    def __init__(self, inbox: "queue.Queue[tuple[_Worker, str | None]]") -> None:
        self.cell: Cell | None = None
        self.stopped: Cell | None = None
        self.ready = self.begun = False
        self._inbox = inbox
        self._child = Child(sys.path)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def give(self, cell: Cell | None) -> None:
        """Hand over the next cell; a dead worker says so through the inbox."""
        self.cell, self.begun = cell, False
        if cell is not None:
            self._child.send(request(cell))

    def stop(self) -> None:
        """End the process because of the cell it has in hand; its record may be on its way already."""
        self.stopped = self.cell
        self._child.kill()

    def end(self) -> str:
        """End the process; return why it had died if it was dead."""
        self._child.kill()
        self._listener.join()
        return self._child.end()

    def _listen(self) -> None:
        while (line := self._child.receive()) is not None:
            self._inbox.put((self, line))
        self._inbox.put((self, None))
