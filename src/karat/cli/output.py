"""Tables for people, lines for pipes, strict JSON for programs."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from karat.core.texts import number

if TYPE_CHECKING:
    from karat.core.statistics import Interval

_COLOURS = {"holds": "green", "fails": "red", "inconclusive": "yellow", "out of regime": "magenta"}


def print_json(value: Any) -> None:
    """Print strict JSON on standard output: infinities and NaN as words."""
    from karat.study.config import encode

    print(json.dumps(encode(value), indent=2, allow_nan=False, ensure_ascii=False))


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on a terminal, lines separated by tabs elsewhere."""
    console = Console(highlight=False)
    if not console.is_terminal:
        for row in [titles, *rows]:
            sys.stdout.write("\t".join(row) + "\n")
        return
    table = Table(*titles, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    console.print(table)


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and texts, leaving out the empty ones."""
    filled = [(name, text) for name, text in pairs if text]
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    width = max((len(name) for name, _ in filled), default=0) + 2
    grid = Table.grid(padding=(0, 0))
    grid.add_column(width=width, style="bold")
    grid.add_column(overflow="fold")
    for name, text in filled:
        grid.add_row(name, Text(text, style=_COLOURS.get(text, "")))
    if console.is_terminal:
        console.print(grid)
    else:
        for name, text in filled:
            sys.stdout.write(f"{name:<{width}}{text}\n")


def with_interval(value: float | None, interval: "Interval | None") -> str:
    """Return "0.31 [0.29, 0.33]", the interval left out when there is none."""
    return with_ends(value, None if interval is None else (interval.low, interval.high))


def with_ends(value: float | None, ends: Sequence[float] | None) -> str:
    """Return a number with the ends of its interval, as they stand in JSON."""
    if value is None or ends is None:
        return number(value)
    return f"{number(value)} [{number(ends[0])}, {number(ends[1])}]"
