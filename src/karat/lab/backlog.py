"""The cells still to be computed, shared with whoever else works on the same store."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.experiments.experiment import Cell
from karat.lab.engine import Feed
from karat.lab.store import Sources, Store


def in_order(cells: Sequence[Cell]) -> Feed:
    """A feed of these cells."""
    waiting = deque(cells)
    return lambda: waiting.popleft() if waiting else None


class Backlog:
    """A feed that passes over the cells another driver has finished in the meantime.

    Args:
        feed: the cells wanted; store: asked again before each is handed out; sources: see `Store.missing`.
    """

    def __init__(self, feed: Feed, store: Store, sources: Sources | None = None) -> None:
        self._feed, self._store, self._sources = feed, store, sources
        self._borrowed: list[Cell] = []

    def __call__(self) -> Cell | None:
        """Return the next cell nobody has finished."""
        while (cell := self._feed()) is not None:
            if not self._store.has(cell, self._sources):
                return cell
            self._borrowed.append(cell)
        return None

    def borrowed(self) -> list[Cell]:
        """Return the cells passed over since the last call."""
        found, self._borrowed = self._borrowed, []
        return found


@contextmanager
def first_in_line(store: Path) -> Iterator[bool]:
    """Tell whether this is the only driver on a store.

    A second one works from the other end, so that the two meet in the middle. The mark is a lock the system
    takes back when a driver dies; where there are no such locks every driver counts as the first, and cells
    may be computed twice, to the same numbers.
    """
    file = store.with_name(f"{store.name}.driver")
    try:
        import fcntl

        handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    except (ImportError, OSError):
        yield True
        return
    first = False
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            first = True
        yield first
    finally:
        if first:
            file.unlink(missing_ok=True)
        os.close(handle)
