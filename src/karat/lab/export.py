"""Records as CSV, JSON lines or Parquet, for other programs."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from karat.study.config import NON_FINITE, decode
from karat.study.record import Record

FIXED = (
    "experiment",
    "config_hash",
    "seed",
    "status",
    "error",
    "cpu_seconds",
    "peak_memory_mb",
    "version",
    "source",
)

_FORMULA = ("=", "+", "-", "@", "\t")


def write_jsonl(records: Sequence[Record], stream: TextIO) -> None:
    """Write one record per line as strict JSON."""
    for record in records:
        stream.write(record.to_json() + "\n")


def write_csv(records: Sequence[Record], stream: TextIO) -> None:
    """Write one record per row: settings in columns "config.NAME", measured values in "values.NAME".

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    rows = [{name: _text(value) for name, value in _row(record).items()} for record in records]
    writer = csv.DictWriter(stream, _columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def write_parquet(records: Sequence[Record], path: Path) -> None:
    """Write the columns of `write_csv` with their types: numbers, flags, texts, lists of numbers.

    A column whose values have no common type holds them as JSON text.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ValueError("Parquet needs pyarrow: `pip install 'karat[parquet]'`.") from None

    rows = [{name: decode(value) for name, value in _row(record).items()} for record in records]
    columns = {}
    for name in _columns(rows):
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pyarrow.array(_alike(values))
        except (pyarrow.ArrowException, TypeError):
            columns[name] = pyarrow.array([None if v is None else json.dumps(v) for v in values])
    parquet.write_table(pyarrow.table(columns), path)


def _row(record: Record) -> dict[str, Any]:
    raw = record.to_dict()
    row = {name: raw[name] for name in FIXED if name in raw} | {"config_hash": record.config_hash}
    for part in ("config", "values"):
        row |= {f"{part}.{name}": value for name, value in raw[part].items()}
    return row


def _columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [*FIXED, *sorted({name for row in rows for name in row} - set(FIXED))]


def _text(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value)
    if isinstance(value, str) and value.startswith(_FORMULA) and value not in NON_FINITE:
        return f"'{value}"
    return value


def _alike(values: list[Any]) -> list[Any]:
    """Whole numbers beside others become floats, as a column has one type; so do those inside lists."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if any(isinstance(v, float) for v in numbers) and len(numbers) == sum(v is not None for v in values):
        return [None if v is None else float(v) for v in values]
    flat = [item for v in values if isinstance(v, list) for item in v]
    if any(isinstance(item, float) for item in flat) and not any(isinstance(i, bool | str) for i in flat):
        return [[float(i) for i in v] if isinstance(v, list) else v for v in values]
    return values
