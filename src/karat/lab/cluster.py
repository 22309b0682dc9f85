"""The Dask engine: the same children as the local one, on any number of machines."""

import queue
import sys
import time
import uuid
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from karat.errors import WorkerError, reason
from karat.lab.engine import ATTEMPTS, Feed, Retries
from karat.lab.execute import failure
from karat.lab.host import Answer, answer, stop
from karat.lab.protocol import read_answer, request
from karat.lab.scheduler import alive, connected, require_address
from karat.lab.watch import Say, Watch, over_limit, unheard
from karat.study.experiment import Cell
from karat.study.record import Record

_REFRESH = 2.0
"""Seconds between questions how many threads the cluster has."""

NO_WORKERS = 10.0
"""Seconds after which a cluster without workers is mentioned."""


@dataclass(frozen=True)
class Dask:
    """Computes on a Dask cluster; only records travel, and only the driver saves them.

    Whoever reaches the scheduler can run code on its workers, as this engine does: keep it in a network of
    people you trust.

    Args:
        scheduler: address, tcp://HOST:8786; None starts a cluster inside this process.
        workers: cells at a time of that cluster; an existing one has as many as its workers have threads.
        limit: seconds after which a cell is stopped and counts as failed, None for no limit.
        say: told in one sentence of a cell that takes unusually long and of a cluster without workers.
    """

    scheduler: str | None = None
    workers: int = 1
    limit: float | None = None
    say: Say = unheard

    def __post_init__(self) -> None:
        if self.scheduler is not None:
            require_address(self.scheduler)

    def compute(self, feed: Feed) -> Generator[Record, None, None]:
        """Yield the record of every cell as soon as it has travelled to this process."""
        session = uuid.uuid4().hex
        with connected(self.scheduler, self.workers) as client, alive(client, session):
            flight = _Flight(self, client, session, Retries(feed))
            try:
                while flight.start():
                    cell, landed = flight.next()
                    record = flight.retries_or_record(cell, landed)
                    if record is not None:
                        yield record
            finally:
                flight.end()


class _Flight:
    """The cells handed to a cluster and not back yet."""

    def __init__(self, engine: Dask, client: Any, session: str, cells: Retries) -> None:
        self._engine, self._client, self._session, self._cells = engine, client, session, cells
        self._address = client.scheduler.address  # a client that has lost its scheduler forgets where it was
        self._inbox: queue.Queue[Any] = queue.Queue()
        self._away: dict[Any, Cell] = {}
        self._watch = Watch(engine.say)
        self._room, self._asked, self._false_starts = 0, -_REFRESH, 0
        self._deserted: float | None = None

    def start(self) -> bool:
        """Send cells until the cluster has enough to do; return whether any is away."""
        if time.monotonic() - self._asked > _REFRESH:
            # Twice the threads, so that none waits for us; some also before there are workers, for clusters
            # that grow by demand.
            self._room, self._asked = max(4, 2 * self._threads()), time.monotonic()
        while len(self._away) < self._room and (cell := self._cells()) is not None:
            key = f"karat-{cell.config_hash}-{cell.seed}-{uuid.uuid4().hex[:8]}"
            arguments = (request(cell), self._session, sys.path, self._engine.limit)
            future = self._client.submit(answer, *arguments, key=key, pure=False)
            self._away[future] = cell
            self._watch.begin(cell)
            future.add_done_callback(self._inbox.put)
        return bool(self._away)

    def _threads(self) -> int:
        """How many cells the cluster computes at a time."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError, ValueError) as error:
            raise self._lost() from error

    def next(self) -> tuple[Cell, Any]:
        """Wait for a cell and return it with its future."""
        while True:
            with suppress(queue.Empty):
                future = self._inbox.get(timeout=_REFRESH)
                return self._away.pop(future), future
            if self._client.status != "running":
                raise self._lost()
            self._look()

    def _look(self) -> None:
        """Say what a silent cluster may be waiting for."""
        if self._threads():
            self._deserted = None
            self._watch.look()
        elif self._deserted is None:
            self._deserted = time.monotonic()
        elif time.monotonic() - self._deserted >= NO_WORKERS:
            self._deserted = float("inf")  # once is enough
            self._engine.say(
                f"the Dask scheduler {self._address} has no workers; the cells wait until there is one, "
                f"`dask worker {self._address}` starts it."
            )

    def retries_or_record(self, cell: Cell, future: Any) -> Record | None:
        """Return the record of a cell that is back, or None if it is tried again."""
        answered = self._answer(future)
        future.release()
        self._watch.end(cell, finished=answered.line is not None)
        if answered.line is not None:
            self._false_starts = 0
            record = read_answer(answered.line, cell)
            return record if record.finished or not self._cells.again(cell) else None
        if answered.over_limit and self._engine.limit is not None:
            return failure(cell, over_limit(self._engine.limit))
        self._false_starts += not answered.started
        if self._false_starts >= ATTEMPTS:
            raise WorkerError(f"worker processes cannot start on the Dask cluster: {answered.reason}.")
        if self._cells.again(cell, blame=answered.started and not answered.forsaken):
            return None
        return failure(cell, f"the worker process died {ATTEMPTS} times: {answered.reason}.")

    def end(self) -> None:
        """Call back what is away and end the children; a lost cluster has none."""
        with suppress(Exception):
            if self._client.status == "running":
                self._client.cancel(list(self._away), force=True)
                self._client.run(stop, self._session, on_error="ignore", callback_timeout=10)

    def _answer(self, future: Any) -> Answer:
        """The answer, or why the host itself died."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        if future.status in ("cancelled", "lost"):
            raise self._lost()
        try:
            answered = future.result()
        except KilledWorker:
            return Answer(None, "its Dask worker was lost")
        except (CancelledError, CommClosedError) as error:
            raise self._lost() from error
        except (ImportError, AttributeError, TypeError) as error:
            raise WorkerError(
                f"a Dask worker has no karat or another version of it: {reason(error)}."
            ) from error
        except Exception as error:
            raise WorkerError(f"the Dask cluster failed: {type(error).__name__}: {reason(error)}.") from error
        return answered if isinstance(answered, Answer) else Answer(None, str(answered))

    def _lost(self) -> WorkerError:
        return WorkerError(
            f"the Dask scheduler {self._address} is lost; finished cells are kept, the same command resumes."
        )
