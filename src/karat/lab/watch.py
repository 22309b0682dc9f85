"""Which cells are being computed and since when, so that one that hangs does not do so in silence."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from karat.study.experiment import Cell

PATIENCE = 60.0
"""Seconds before a running cell is mentioned at all."""

UNUSUAL = 10.0
"""A cell is mentioned when it runs so many times longer than the longest one of its experiment."""

Say = Callable[[str], object]
"""Told one sentence for the user; the library itself stays silent."""


def unheard(text: str) -> None:
    """Listen to nothing."""


@dataclass
class _Running:
    cell: Cell
    began: float
    said: int = 0


class Watch:
    """The clock over the cells in hand.

    Args:
        say: told of a cell that runs unusually long, again whenever that time has doubled.
        clock: monotone seconds.
    """

    def __init__(self, say: Say = unheard, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._running: dict[tuple[str, str, int], _Running] = {}
        self._longest: defaultdict[str, float] = defaultdict(float)

    def begin(self, cell: Cell) -> None:
        """Start the clock of a cell, also anew."""
        self._running[cell.key] = _Running(cell, self._clock())

    def end(self, cell: Cell, *, finished: bool = True) -> None:
        """Stop the clock of a cell; the time of one that did not finish says nothing about the others."""
        running = self._running.pop(cell.key, None)
        if running and finished:
            spent = self._clock() - running.began
            self._longest[cell.experiment] = max(self._longest[cell.experiment], spent)

    def age(self, cell: Cell) -> float:
        """Return the seconds since a cell began."""
        running = self._running.get(cell.key)
        return self._clock() - running.began if running else 0.0

    def look(self) -> None:
        """Mention the cells that run unusually long."""
        for running in self._running.values():
            longest = self._longest[running.cell.experiment]
            age = self._clock() - running.began
            if age >= max(PATIENCE, UNUSUAL * longest) * 2**running.said:
                running.said += 1
                usual = f"; the longest so far took {span(longest)}" if longest else ""
                self._say(f"{describe(running.cell)} has been running for {span(age)}{usual}.")


def describe(cell: Cell) -> str:
    """Return "benign.fig1, config 0123456789abcdef, seed 3"."""
    return f"{cell.experiment}, config {cell.config_hash}, seed {cell.seed}"


def span(seconds: float) -> str:
    """Return "0:10:00", or "0.5 s" below a second."""
    return str(timedelta(seconds=round(seconds))) if seconds >= 1 else f"{seconds:.2g} s"


def over_limit(seconds: float) -> str:
    """Return why a cell was stopped."""
    return f"stopped after {span(seconds)}, the limit per cell."
