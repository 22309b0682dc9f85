"""How a sweep tells its user where it is; the library itself stays silent."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from karat.experiments.record import Record


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
        console: where to, by default standard error, so that standard output stays clean;
        every: seconds between plain lines; clock: monotone seconds.
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
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
                # Cells may take minutes: the speed needs a long memory.
                speed_estimate_period=3600,
            )
            self._task = self._bar.add_task("starting", total=total, completed=done, rate="")
            self._bar.start()
        else:
            self._say(f"{total} cells, {done} of them stored already")

    def advance(self, record: Record) -> None:
        """Move the bar, or print a line if the last one is a while ago."""
        self._finished += 1
        self._failed += record.status == "failed"
        if self._bar:
            failed = f" ({self._failed} failed)" if self._failed else ""
            self._bar.update(self._task, advance=1, description=record.experiment + failed, rate=self._rate())
        elif self._clock() - self._spoke >= self._every:
            self._spoke = self._clock()
            self._say(f"{record.experiment}: {self._position()}, {self._rate()}, {self._left()} left")

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
        return self._finished / max(self._clock() - self._began, 1e-9)

    def _rate(self) -> str:
        speed = self._speed()
        return f"{speed:.1f} cells/s" if speed >= 1 else f"{60 * speed:.1f} cells/min"

    def _left(self) -> str:
        remaining = self._total - self._before - self._finished
        return str(timedelta(seconds=round(remaining / self._speed())))

    def _say(self, text: str) -> None:
        self._console.print(f"karat: {text}.", highlight=False, markup=False, soft_wrap=True)
