"""Times on the command line: 90, 90s, 10m, 2h."""

import re
from typing import Annotated

import typer

from karat.cli.errors import BAD_INPUT, Failure

CellLimit = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Stop a cell after this time (90s, 10m, 2h); it counts as failed."),
]
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(text: str | None, option: str) -> float | None:
    """Return seconds; None for None."""
    if text is None:
        return None
    parts = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([smhd]?)\s*", text)
    seconds = float(parts[1]) * _SECONDS[parts[2]] if parts else 0.0
    if seconds <= 0:
        raise Failure(f"`{option}` must be a time such as 90s, 10m or 2h, got {text!r}.", BAD_INPUT)
    return seconds


def duration(seconds: float) -> str:
    """Return a time to read; what starting a process takes is not told apart.

    >>> [duration(seconds) for seconds in (0.003, 15, 600, 20_000, 86_400 * 400)]
    ['< 0.1 s', '15 s', '10 min', '5.6 h', '400 days']
    """
    if seconds < 0.1:
        return "< 0.1 s"
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"
