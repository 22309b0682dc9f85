"""The table any experiment has: mean and interval over seeds of every scalar value, a row per setting."""

from collections.abc import Sequence

from karat.lab.averages import average_seeds
from karat.study.record import Record
from karat.study.registry import TABLES
from karat.study.tables import Entry, Make, Table


def summary_table(records: Sequence[Record]) -> Table:
    """One row per setting and value: mean, 95% interval over seeds, number of seeds."""
    rows: list[list[Entry]] = []
    groups = average_seeds(records)
    varied = list(groups[0].varied) if groups else []
    for group in groups:
        settings: list[Entry] = [_entry(group.varied[name]) for name in varied]
        for name, average in group.averages.items():
            ends = (average.interval.low, average.interval.high) if average.interval else (None, None)
            rows.append([*settings, name, average.mean, *ends, average.seeds])
    title = records[0].experiment if records else "nothing recorded"
    return Table(title=title, columns=[*varied, "value", "mean", "low", "high", "seeds"], rows=rows)


def _entry(value: object) -> Entry:
    return value if isinstance(value, str | int | float) or value is None else str(value)


def table_of(experiment: str) -> Make:
    """How the records of an experiment become a table: its own way, or the averages of its values."""
    return TABLES.get(experiment, summary_table)
