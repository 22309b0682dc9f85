"""Sweeps: compute the missing cells of a store, in processes of their own, and commit each at once."""

import os
from collections.abc import Generator, Sequence
from contextlib import closing

from karat.experiments.experiment import Cell
from karat.experiments.record import Record
from karat.lab.execute import execute
from karat.lab.pool import compute
from karat.lab.progress import Progress, Silent
from karat.lab.store import Store


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    inline: bool = False,
) -> list[Record]:
    """Return the records of all cells, in their order, computing only those the store does not have.

    Every finished record is in the store before the next one is awaited: a crash or Ctrl-C loses none, and
    the same call resumes. Each cell runs on one thread, so numbers do not depend on `workers` or `inline`.

    Args:
        cells: what to compute; store: where records are kept; workers: processes, one per core by default;
        progress: listener; inline: compute in this process (also meant by `workers=0`), for small work.

    Returns:
        one record per cell; failed cells have theirs too and are tried again by the next call.
    """
    fresh = {
        record.key: record
        for record in iterate(cells, store, workers=workers, progress=progress, inline=inline)
    }
    found = [fresh.get(cell.key) or store.get(cell) for cell in cells]
    return [record for record in found if record is not None]


def iterate(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    inline: bool = False,
) -> Generator[Record, None, None]:
    """Yield each record after it was computed and committed, in the order of finishing; see `run_cells`."""
    todo = store.missing(cells)
    count = _workers(workers, len(todo), inline)
    listener = progress or Silent()
    total = len({cell.key for cell in cells})
    computed = compute(todo, count) if count else (execute(cell) for cell in todo)
    listener.start(total, total - len(todo))
    try:
        with closing(computed) as records:
            for record in records:
                store.put(record)
                listener.advance(record)
                yield record
    finally:
        listener.stop()


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _workers(asked: int | None, cells: int, inline: bool) -> int:
    """Return the number of processes; 0 stands for this one."""
    if asked is not None and (isinstance(asked, bool) or not isinstance(asked, int) or asked < 0):
        raise ValueError(f"`workers` of `run_cells` must be a whole number >= 0, got {asked!r}.")
    if inline and asked is not None and asked > 1:
        raise ValueError(f"`workers` of `run_cells` must be 0 or 1 with `inline`, got {asked}.")
    if inline or asked == 0:
        return 0
    return min(asked or cores(), max(cells, 1))
