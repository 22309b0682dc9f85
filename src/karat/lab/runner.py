"""Compute the missing cells of a store on an engine, and commit each record at once."""

import os
from collections.abc import Generator, Sequence
from contextlib import closing

from karat.lab.backlog import Backlog, in_order
from karat.lab.engine import Engine, Inline
from karat.lab.pool import Local
from karat.lab.progress import Progress, Silent
from karat.lab.store import Reservations, Store
from karat.study.experiment import Cell
from karat.study.record import Record
from karat.study.registry import find_experiment
from karat.study.source import source_hash


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
) -> list[Record]:
    """Return the records of all cells, in their order, computing only those the store does not have.

    Every finished record is in the store before the next one is awaited: a crash or Ctrl-C loses none, and
    the same call resumes. Cells that another driver has in hand are left to it and awaited. Each cell runs
    on one thread, so numbers depend neither on `workers` nor on the engine.

    Args:
        cells: what to compute.
        store: where records are kept.
        workers: processes, one per core by default, 0 for this one.
        engine: what computes instead.
        progress: listener.
        fresh: compute again what other source code has computed.

    Returns:
        one record per cell; failed cells have theirs too and are tried again by the next call.
    """
    computed = iterate(cells, store, workers=workers, progress=progress, engine=engine, fresh=fresh)
    known = {record.key: record for record in computed}
    records = [known.get(cell.key) or store.get(cell) for cell in cells]
    return [record for record in records if record is not None]


def iterate(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
) -> Generator[Record, None, None]:
    """Yield each record after it was computed and committed, in the order of finishing; see `run_cells`.

    Args:
        cells: what to compute.
        store: where records are kept.
        workers: processes, one per core by default, 0 for this one.
        progress: listener.
        engine: what computes instead.
        fresh: compute again what other source code has computed.
    """
    engine = engine or make_local(workers)
    sources = present_sources(cells) if fresh else None
    todo = store.missing(cells, sources)
    listener = progress or Silent()
    total = len({cell.key for cell in cells})
    listener.start(total, total - len(todo))
    try:
        if not todo:
            return
        with Reservations(store.path) as reservations:
            backlog = Backlog(in_order(todo), store, reservations, sources)
            yield from drive(backlog, store, engine, listener)
    finally:
        listener.stop()


def drive(
    backlog: Backlog, store: Store, engine: Engine, listener: Progress
) -> Generator[Record, None, None]:
    """Yield what the engine makes of the backlog, each record after it was committed.

    Args:
        backlog: the cells still to be computed.
        store: where records are kept.
        engine: what computes.
        listener: is told of every record.
    """
    while backlog.wait():
        # Records of another driver may be what the feed was waiting for.
        yield from _borrowed(backlog, store, listener)
        if not backlog.ready:
            continue
        with closing(engine.compute(backlog)) as records:
            for record in records:
                store.put(record)
                backlog.done(record.key)
                listener.advance(record)
                yield record
                yield from _borrowed(backlog, store, listener)


def present_sources(cells: Sequence[Cell]) -> dict[str, str]:
    """Return the hash of the source code that would compute the cells, by experiment."""
    return {name: source_hash(find_experiment(name)) for name in {cell.experiment for cell in cells}}


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def most_workers() -> int:
    """Return how many processes make sense at most: each takes 300 MB, and cells keep a core busy."""
    return max(16, 4 * cores())


def make_local(workers: int | None = None) -> Engine:
    """Return the engine of this machine: `workers` processes, one per core by default, 0 for this one."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 0):
        raise ValueError(f"`workers` must be a whole number >= 0, got {workers!r}.")
    if workers is not None and workers > most_workers():
        raise ValueError(f"`workers` must be at most {most_workers()} on this machine, got {workers}.")
    return Inline() if workers == 0 else Local(workers or cores())


def _borrowed(backlog: Backlog, store: Store, listener: Progress) -> Generator[Record, None, None]:
    """What another driver has computed in the meantime."""
    for cell in backlog.borrowed():
        if record := store.get(cell):
            listener.advance(record)
            yield record
