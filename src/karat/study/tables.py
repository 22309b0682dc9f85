"""A table with a title, and its forms in CSV and Markdown."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from karat.core.texts import number
from karat.study.experiment import Experiment
from karat.study.record import Record
from karat.study.run import Runs, read_runs

C = TypeVar("C")
R = TypeVar("R")
Entry = str | float | int | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under named columns; None is a cell without a value.

    Args:
        title: what it shows.
        columns: their names.
        rows: one entry per column.
        note: what a reader must know.

    Example:
        >>> print(Table(title="Two", columns=("x", "y"), rows=((1, 0.5), (2, None))).markdown())
        **Two**
        <BLANKLINE>
        | x | y |
        | --- | --- |
        | 1 | 0.5 |
        | 2 |  |
        <BLANKLINE>
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""

    def __post_init__(self) -> None:
        size = len(self.columns)
        for row in self.rows:
            if len(row) != size:
                raise ValueError(f"a row of `{self.title}` must have {size} cells, got {len(row)}.")

    def csv(self) -> str:
        """The columns and rows as CSV, numbers in full."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        return stream.getvalue()

    def markdown(self) -> str:
        """Title, table in four significant digits, note."""
        lines = [f"**{self.title}**", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


def _line(cells: Sequence[Entry]) -> str:
    return "| " + " | ".join(map(_text, cells)) + " |"


def _text(cell: Entry) -> str:
    return number(cell).replace("|", "\\|")


Make = Callable[[Sequence[Record]], Table]
"""Finished records of one experiment -> table."""


@dataclass(frozen=True)
class Tabulation(Generic[C, R]):
    """How the runs of an experiment become a table.

    Args:
        experiment: whose runs.
        make: they -> table.
    """

    experiment: Experiment[C, R]
    make: Callable[[Runs[C, R]], Table]

    def __call__(self, records: Sequence[Record]) -> Table:
        """Tabulate what records of the experiment hold."""
        return self.make(read_runs(self.experiment, records))


FORMATS: dict[str, Callable[[Table], str]] = {"csv": Table.csv, "md": Table.markdown}
