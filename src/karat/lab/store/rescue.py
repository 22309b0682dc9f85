"""Records that were computed but could not be saved: kept beside the store, taken in by the next writer."""

import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from karat.lab.store.row import parse
from karat.study.record import Record


def rescue(path: Path, records: Sequence[Record]) -> Path | None:
    """Write records to a file beside the store at `path`; return it, or None if that fails as well."""
    file = path.with_name(f"{path.name}.rescued-{uuid4().hex}.jsonl")
    # Under its own name only when it is whole: a writer may look for it now.
    draft = file.with_suffix(".part")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as stream:
            stream.writelines(record.to_json() + "\n" for record in records)
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(file)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        return None
    return file


def claim_rescued(path: Path) -> list[tuple[Path, list[Record]]]:
    """Return the files with rescued records and what they hold, each renamed so that no other writer has it.

    A line cut off by a full disk is skipped.
    """
    claimed = []
    for file in _files(path):
        mine = path.with_name(f"{path.name}.rescued-{uuid4().hex}.jsonl")
        with suppress(OSError):
            file.rename(mine)
            claimed.append((mine, _records(mine)))
    return claimed


def rescued(path: Path) -> list[Record]:
    """Return the records that wait beside the store at `path`, and leave them there."""
    return [record for file in _files(path) for record in _records(file)]


def _files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.rescued*.jsonl"))


def _records(file: Path) -> list[Record]:
    records = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            records.append(parse(line))
    return records
