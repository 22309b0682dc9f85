"""The cells still to be computed, shared with whoever else works on the same store."""

import time
from collections import deque
from collections.abc import Sequence
from functools import cached_property

from karat.lab.engine import Feed
from karat.lab.store import Reservations, Sources, Store
from karat.study.experiment import Cell

LOOK = 0.1
"""Seconds between two looks at what other drivers have in hand, when there is nothing else to do."""

PATIENCE = 60.0
"""Seconds, at least, after which a driver that seems to stand still is no longer waited for; where cells
take long it is ten times the longest one."""


def in_order(cells: Sequence[Cell]) -> Feed:
    """A feed of these cells."""
    waiting = deque(cells)
    return lambda: waiting.popleft() if waiting else None


class Backlog:
    """A feed that passes over the cells another driver has finished or has in hand.

    What another driver has in hand is left to it. If that driver dies the cell is free again at once.

    Args:
        feed: the cells wanted.
        store: asked again before each is handed out.
        reservations: of all drivers on the store.
        sources: see `Store.missing`.
    """

    def __init__(
        self, feed: Feed, store: Store, reservations: Reservations, sources: Sources | None = None
    ) -> None:
        self._feed, self._store, self._sources = feed, store, sources
        self._reservations = reservations
        self._ready: deque[Cell] = deque()
        self._elsewhere: dict[tuple[str, str, int], Cell] = {}
        self._borrowed: list[Cell] = []
        self._moved = time.monotonic()

    def __call__(self) -> Cell | None:
        """Return the next cell nobody has finished or has in hand."""
        if self._ready:
            return self._ready.popleft()
        while (cell := self._feed()) is not None:
            if self._take(cell):
                return cell
        return next((cell for cell in list(self._elsewhere.values()) if self._take(cell)), None)

    def done(self, key: tuple[str, str, int]) -> None:
        """Give back a cell whose record is in the store."""
        self._reservations.drop(key)
        self._moved = time.monotonic()

    def borrowed(self) -> list[Cell]:
        """Return the cells that other drivers have finished since the last call."""
        cells, self._borrowed = self._borrowed, []
        return cells

    @property
    def ready(self) -> bool:
        """Whether a cell waits to be handed out."""
        return bool(self._ready)

    def wait(self) -> bool:
        """Wait until a cell is ready or borrowed; return False if nothing is left, here or elsewhere."""
        while True:
            if (cell := self()) is not None:
                self._ready.append(cell)
            elif self._stands_still():
                self._ready.extend(self._elsewhere.values())
                self._elsewhere.clear()
            if self._ready or self._borrowed:
                return True
            if not self._elsewhere:
                return False
            time.sleep(LOOK)

    def _take(self, cell: Cell) -> bool:
        """Whether the cell is ours to compute; otherwise remember where it is."""
        # In this order: who finishes a cell saves its record before giving it back.
        if not self._reservations.take(cell):
            self._elsewhere[cell.key] = cell
            return False
        self._elsewhere.pop(cell.key, None)
        if not self._store.has(cell, self._sources):
            return True
        self._reservations.drop(cell.key)
        self._borrowed.append(cell)
        self._moved = time.monotonic()
        return False

    def _stands_still(self) -> bool:
        """Whether nothing was finished for long: a stopped driver keeps its cells, but not for ever."""
        quiet = time.monotonic() - self._moved
        return bool(self._elsewhere) and quiet > PATIENCE and quiet > 10 * self._longest

    @cached_property
    def _longest(self) -> float:
        """CPU seconds of the longest cell known of the experiments that others are at."""
        names = {cell.experiment for cell in self._elsewhere.values()}
        rows = (row for name in names for row in self._store.rows("WHERE experiment = ?", (name,)))
        return max((row.cpu_seconds for row in rows), default=0.0)
