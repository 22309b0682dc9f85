"""Worker processes of this machine that compute cells side by side and may die without ending the sweep."""

import queue
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass

from karat.experiments.experiment import Cell
from karat.experiments.record import Record
from karat.lab.child import READY, Child, WorkerError, request
from karat.lab.engine import ATTEMPTS, Feed, Retries
from karat.lab.execute import failure


@dataclass(frozen=True)
class Local:
    """Computes in processes of their own, no services needed.

    They are fresh interpreters that do not import the caller's main module, so scripts need no `__main__`
    guard.

    Args:
        workers: number of processes, each on one thread.
    """

    workers: int

    def compute(self, feed: Feed) -> Generator[Record, None, None]:
        """Yield the record of every cell as soon as it is finished, in the order of finishing."""
        cells = Retries(feed)
        inbox: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
        team: set[_Worker] = set()
        false_starts = 0
        try:
            while self._give_work(cells, team, inbox):
                worker, line = inbox.get()
                if line == READY:
                    worker.ready, false_starts = True, 0
                elif line is not None:
                    done, record = worker.cell, Record.from_json(line)
                    # The next cell before the record is yielded: the worker goes on while the driver saves.
                    worker.give(cells())
                    if record.finished or done is None or not cells.again(done):
                        yield record
                else:
                    team.remove(worker)
                    lost, reason = worker.cell, worker.end()
                    false_starts += not worker.ready
                    if false_starts >= ATTEMPTS:
                        raise WorkerError(f"worker processes cannot start: {reason}.")
                    if lost is not None and not cells.again(lost, blame=worker.ready):
                        yield failure(lost, f"the worker process died {ATTEMPTS} times: {reason}.")
        finally:
            for worker in team:
                worker.end()

    def _give_work(
        self, cells: Retries, team: "set[_Worker]", inbox: "queue.Queue[tuple[_Worker, str | None]]"
    ) -> bool:
        """Hand cells to idle and new workers; return whether any of them is at work."""
        for worker in [worker for worker in team if worker.cell is None]:
            worker.give(cells())
        while len(team) < self.workers and (cell := cells()) is not None:
            worker = _Worker(inbox)
            worker.give(cell)
            team.add(worker)
        return any(worker.cell for worker in team)


class _Worker:
    """A child, the cell it has in hand, and the thread that listens to it."""

    def __init__(self, inbox: "queue.Queue[tuple[_Worker, str | None]]") -> None:
        self.cell: Cell | None = None
        self.ready = False
        self._inbox = inbox
        self._child = Child(sys.path)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def give(self, cell: Cell | None) -> None:
        """Hand over the next cell; a dead worker says so through the inbox."""
        self.cell = cell
        if cell is not None:
            self._child.send(request(cell))

    def end(self) -> str:
        """End the process; return why it had died if it was dead."""
        self._child.kill()
        self._listener.join()
        return self._child.end()

    def _listen(self) -> None:
        while (line := self._child.receive()) is not None:
            self._inbox.put((self, line))
        self._inbox.put((self, None))
