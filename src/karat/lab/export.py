"""Records as CSV or JSON lines, for other programs."""

import csv
import json
from collections.abc import Sequence
from typing import Any, TextIO

from karat.experiments.record import Record

FIXED = ("experiment", "config_hash", "seed", "status", "error", "cpu_seconds", "peak_memory_mb", "version")


def write_jsonl(records: Sequence[Record], stream: TextIO) -> None:
    """Write one record per line as strict JSON."""
    for record in records:
        stream.write(record.to_json() + "\n")


def write_csv(records: Sequence[Record], stream: TextIO) -> None:
    """Write one record per row: settings in columns "config.NAME", measured values in "values.NAME"."""
    rows = [_row(record) for record in records]
    varying = sorted({name for row in rows for name in row} - set(FIXED))
    writer = csv.DictWriter(stream, [*FIXED, *varying], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _row(record: Record) -> dict[str, Any]:
    raw = record.to_dict()
    row = {name: raw[name] for name in FIXED if name in raw} | {"config_hash": record.config_hash}
    for part in ("config", "values"):
        row |= {f"{part}.{name}": value for name, value in raw[part].items()}
    return {
        name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in row.items()
    }
