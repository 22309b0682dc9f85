"""How a sweep tells its user where it is; the library itself stays silent."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from karat.study.record import Record


class Progress(Protocol):
    """Listener of a sweep."""

    def start(self, total: int, done: int) -> None:
        """A sweep of `total` cells begins, `done` of them already stored."""

    def advance(self, record: Record) -> None:
        """One more cell is finished and saved."""

    def stop(self) -> None:
        """The sweep is over, also when interrupted."""


class Silent:
    """Says nothing."""

    def start(self, total: int, done: int) -> None:
        """Say nothing."""

    def advance(self, record: Record) -> None:
        """Say nothing."""

    def stop(self) -> None:
        """Say nothing."""


class RichProgress:
    """A live bar with experiment, cells per second and time left; without a terminal, a line now and then.

    Args:
        console: where to, by default standard error, so that standard output stays clean.
        every: seconds between plain lines.
        clock: monotone seconds.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(stderr=True)
        self._every = every
        self._clock = clock
        self._bar: Bar | None = None
        self._cost: Callable[[Record], float] | None = None

    def expect(self, cost: Callable[[Record], float], seconds: float) -> None:
        """Take the time left from what cells cost: in a sweep from small to large their number misleads.

        Args:
            cost: seconds of a record's cell, up to a factor.
            seconds: those of all cells still to come.
        """
        self._cost, self._due, self._paid, self._since = cost, seconds, 0.0, self._clock()

    def start(self, total: int, done: int) -> None:
        """Show the bar, or say how much there is to do."""
        self._total, self._before, self._finished, self._failed = total, done, 0, 0
        self._began = self._spoke = self._clock()
        if done >= total:
            return
        if self._console.is_terminal:
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TextColumn("{task.fields[left]}"),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=total, completed=done, rate="", left="")
            self._bar.start()
        else:
            self._say(f"{total} cells, {done} of them stored already")

    def advance(self, record: Record) -> None:
        """Move the bar, or print a line if the last one is a while ago."""
        self._finished += 1
        if self._finished == 1:
            self._first = self._clock()
        self._failed += record.status == "failed"
        if self._cost:
            self._paid += self._cost(record)
        if self._bar:
            failed = f" ({self._failed} failed)" if self._failed else ""
            self._bar.update(
                self._task,
                advance=1,
                description=record.experiment + failed,
                rate=self._rate(),
                left=self._left(),
            )
        elif self._clock() - self._spoke >= self._every:
            self._spoke = self._clock()
            self._say(f"{record.experiment}: {self._position()}, {self._rate()}, {self._left()}")

    def stop(self) -> None:
        """Remove the bar and say how far it came."""
        if self._bar:
            self._bar.stop()
            self._bar = None
        if self._finished:
            spent = timedelta(seconds=round(self._clock() - self._began))
            failed = f", {self._failed} failed" if self._failed else ""
            self._say(f"{self._position()} cells in {spent}{failed}")

    def _position(self) -> str:
        return f"{self._before + self._finished}/{self._total}"

    def _speed(self) -> float:
        """Cells per second since the first one, which pays for starting up; 0 while it is the only one."""
        return (self._finished - 1) / max(self._clock() - self._first, 1e-9)

    def _rate(self) -> str:
        speed = self._speed()
        if speed == 0:
            return "calibrating"
        return f"{speed:.1f} cells/s" if speed >= 1 else f"{60 * speed:.1f} cells/min"

    def _left(self) -> str:
        if self._cost and self._paid > 0 and self._finished > 1:  # the first cell pays for starting up
            seconds = (self._clock() - self._since) * max(self._due / self._paid - 1, 0.0)
        elif self._speed() > 0:
            seconds = (self._total - self._before - self._finished) / self._speed()
        else:
            return "time left unknown"
        return f"{timedelta(seconds=round(seconds))} left"

    def _say(self, text: str) -> None:
        self._console.print(f"karat: {text}.", highlight=False, markup=False, soft_wrap=True)
