"""The Dask engine: the same children as the local one, on any number of machines."""

import logging
import os
import queue
import sys
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from karat.experiments.experiment import Cell
from karat.experiments.record import Record
from karat.lab.child import WorkerError, request
from karat.lab.engine import ATTEMPTS, Feed, Retries
from karat.lab.execute import failure
from karat.lab.host import Answer, answer, stop
from karat.version import __version__

CONNECT = 30.0
"""Seconds to wait for the scheduler."""

_REFRESH = 2.0
"""Seconds between questions how many threads the cluster has."""


@dataclass(frozen=True)
class Dask:
    """Computes on a Dask cluster; only records travel, and only the driver saves them.

    Args:
        scheduler: address such as tcp://HOST:8786; None starts a cluster inside this process;
        workers: cells at a time of that cluster; an existing one has as many as its workers have threads.
    """

    scheduler: str | None = None
    workers: int = 1

    def compute(self, feed: Feed) -> Generator[Record, None, None]:
        """Yield the record of every cell as soon as it has travelled to this process."""
        with _connected(self) as client:
            flight = _Flight(client, Retries(feed))
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

    def __init__(self, client: Any, cells: Retries) -> None:
        self._client, self._cells = client, cells
        self._address = client.scheduler.address  # a client that has lost its scheduler forgets where it was
        self._session = uuid.uuid4().hex
        self._inbox: queue.Queue[Any] = queue.Queue()
        self._away: dict[Any, Cell] = {}
        self._room, self._asked, self._false_starts = 0, -_REFRESH, 0

    def start(self) -> bool:
        """Send cells until the cluster has enough to do; return whether any is away."""
        if time.monotonic() - self._asked > _REFRESH:
            # Twice the threads, so that none waits for us; some also before there are workers, for clusters
            # that grow by demand.
            self._room, self._asked = max(4, 2 * self._threads()), time.monotonic()
        while len(self._away) < self._room and (cell := self._cells()) is not None:
            key = f"karat-{cell.config_hash}-{cell.seed}-{uuid.uuid4().hex[:8]}"
            future = self._client.submit(answer, request(cell), self._session, sys.path, key=key, pure=False)
            self._away[future] = cell
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

    def retries_or_record(self, cell: Cell, future: Any) -> Record | None:
        """Return the record of a cell that is back, or None if it is tried again."""
        found = self._answer(future)
        future.release()
        if isinstance(found, Answer) and found.line is not None:
            self._false_starts = 0
            record = Record.from_json(found.line)
            if record.version != __version__:
                raise WorkerError(f"a Dask worker runs karat {record.version}, this is {__version__}.")
            return record if record.finished or not self._cells.again(cell) else None
        reason, started = (found.reason, found.started) if isinstance(found, Answer) else (found, True)
        self._false_starts += not started
        if self._false_starts >= ATTEMPTS:
            raise WorkerError(f"worker processes cannot start on the Dask cluster: {reason}.")
        if self._cells.again(cell, blame=started):
            return None
        return failure(cell, f"the worker process died {ATTEMPTS} times: {reason}.")

    def end(self) -> None:
        """Call back what is away and end the children; a lost cluster has none."""
        with suppress(Exception):
            if self._client.status == "running":
                self._client.cancel(list(self._away), force=True)
                self._client.run(stop, self._session, on_error="ignore")

    def _answer(self, future: Any) -> Answer | str:
        """The answer, or why the host itself died."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        if future.status in ("cancelled", "lost"):
            raise self._lost()
        try:
            found = future.result()
        except KilledWorker:
            return "its Dask worker was lost"
        except (CancelledError, CommClosedError) as error:
            raise self._lost() from error
        except (ImportError, AttributeError) as error:
            raise WorkerError(f"a Dask worker cannot load karat: {_line(error)}.") from error
        except Exception as error:
            raise WorkerError(f"the Dask cluster failed: {type(error).__name__}: {_line(error)}.") from error
        return found if isinstance(found, Answer) else str(found)

    def _lost(self) -> WorkerError:
        return WorkerError(
            f"the Dask scheduler {self._address} is lost; finished cells are kept, the same command resumes."
        )


@contextmanager
def _connected(engine: Dask) -> Iterator[Any]:
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise WorkerError("the Dask engine needs `pip install 'karat[dist]'`.") from None
    if not os.environ.get("KARAT_DEBUG"):
        _hush()
    cluster = None
    # A lost scheduler shall be known soon, not after a long wait for it to come back.
    with config.set({"distributed.comm.timeouts.connect": f"{CONNECT:.0f}s"}):
        try:
            if engine.scheduler is None:
                cluster = LocalCluster(
                    n_workers=1,
                    threads_per_worker=engine.workers,
                    processes=False,  # the cells run in children anyway
                    dashboard_address=":0",  # any free port: several clusters may run side by side
                )
            client = Client(cluster or engine.scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            if cluster is not None:
                cluster.close()
            if engine.scheduler is None:
                raise WorkerError(f"the Dask cluster cannot be started: {_line(error)}.") from error
            raise WorkerError(f"the Dask scheduler {engine.scheduler} cannot be reached.") from error
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=2)
            if cluster is not None:
                cluster.close()


def _hush() -> None:
    """One clear line at the end instead of the log of a cluster in trouble."""
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
