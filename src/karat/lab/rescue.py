"""Records that were computed but could not be saved: kept beside the store, taken in by the next writer."""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from karat.experiments.record import Record


def rescue(path: Path, record: Record) -> Path | None:
    """Append a record to the file beside the store at `path`; return it, or None if that fails as well."""
    file = path.with_name(f"{path.name}.rescued.jsonl")
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(record.to_json() + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        return None
    return file


def claim_rescued(path: Path) -> list[tuple[Path, list[Record]]]:
    """Return the files with rescued records and what they hold, each renamed so that no other writer has it.

    A line cut off by a full disk is skipped.
    """
    found = []
    for file in sorted(path.parent.glob(f"{path.name}.rescued*.jsonl")):
        mine = path.with_name(f"{path.name}.rescued-{uuid4().hex}.jsonl")
        with suppress(OSError):
            file.rename(mine)
            found.append((mine, _records(mine)))
    return found


def _records(file: Path) -> list[Record]:
    records = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            records.append(Record.from_json(line))
    return records
