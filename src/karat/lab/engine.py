"""What computes the cells of a sweep: this process, local worker processes, or a Dask cluster."""

from collections import Counter, deque
from collections.abc import Callable, Generator
from typing import Protocol

from karat.lab.execute import execute
from karat.study.experiment import Cell
from karat.study.record import Record

ATTEMPTS = 2
"""A cell that fails or whose worker dies (out of memory, killed) is tried once more, after the others."""

Feed = Callable[[], Cell | None]
"""Asked for the next cell whenever a worker is free; None means: none at present."""


class Engine(Protocol):
    """Computes cells, in any order, each with the same numbers as every other engine."""

    def compute(self, feed: Feed) -> Generator[Record, None, None]:
        """Yield records as they are finished, until the feed has nothing while no cell is being computed.

        Workers end when the generator is exhausted, closed or interrupted. Only the caller saves records.
        """
        ...


class Retries:
    """A feed followed by the cells that go wrong, each until it had its attempts."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._again: deque[Cell] = deque()
        self._tries: Counter[tuple[str, str, int]] = Counter()

    def __call__(self) -> Cell | None:
        """Return the next cell."""
        cell = self._feed()
        return self._again.popleft() if cell is None and self._again else cell

    def again(self, cell: Cell, *, blame: bool = True) -> bool:
        """Queue a cell that went wrong and return True, or False if it had its attempts.

        Args:
            cell: that went wrong.
            blame: whether the attempt counts; not if the worker never started.
        """
        self._tries[cell.key] += blame
        if self._tries[cell.key] >= ATTEMPTS:
            return False
        self._again.append(cell)
        return True


class Inline:
    """Computes in this process, one cell after the other."""

    def compute(self, feed: Feed) -> Generator[Record, None, None]:
        """Yield the record of every cell."""
        cells = Retries(feed)
        while (cell := cells()) is not None:
            record = execute(cell)
            if record.finished or not cells.again(cell):
                yield record
