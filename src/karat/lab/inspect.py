"""Is a store sound, and what can be saved of one that is not."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from karat.experiments.record import Record
from karat.lab import schema, users
from karat.lab.connection import StoreError, guard, open_to_read, unused
from karat.lab.store import Store

_HEX = "0123456789abcdef"
_DEPTH = 3
_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Health:
    """What `verify` found: the number of records, and one line per problem."""

    schema: int
    records: int
    problems: tuple[str, ...]


def verify(path: Path) -> Health:
    """Check the file, its layout and every record: that it can be read and stands where it belongs."""
    with guard(path), closing(open_to_read(path)) as connection:
        problems = [str(text) for (text,) in connection.execute(f"PRAGMA integrity_check({_SHOWN})")]
        problems = [f"the file: {text}" for text in problems if text != "ok"]
        records = 0
        if not problems:
            for row in connection.execute(
                "SELECT experiment, config_hash, seed, status, version, source, record FROM cells"
            ):
                records += 1
                if wrong := _wrong(row):
                    problems.append(wrong)
    return Health(schema=schema.VERSION, records=records, problems=tuple(problems))


@dataclass(frozen=True, kw_only=True)
class Salvage:
    """What `repair` did: how many records were saved, and where the damaged file was put."""

    records: int
    backup: Path


def repair(path: Path) -> Salvage:
    """Copy every readable record, sweep and benchmark into a new store; the damaged file is kept beside it.

    Reading: SQLite reads a table in the order of its key until it meets a damaged page, so the table is read
    from both ends and then in parts of the key, as far as they can be read.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no store here.")
    with _alone(path):
        saved = {record.key: record for record in _readable(path)}
        if not saved:
            raise StoreError(f"{path}: no record can be read; the file is left as it is.")
        fresh = unused(path, ".repaired")
        with Store(fresh) as store:
            for record in saved.values():
                store.put(record)
        _copy_rest(path, fresh)
        backup = unused(path, ".damaged")
        with guard(path):
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    path.with_name(path.name + suffix).rename(backup.with_name(backup.name + suffix))
            fresh.rename(path)
    return Salvage(records=len(saved), backup=backup)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        with users.alone(path):
            yield
    except BlockingIOError as error:
        raise StoreError(f"{path}: a running sweep uses the store.") from error


def _copy_rest(path: Path, fresh: Path) -> None:
    """Copy the tables beside the records, row by row as far as they can be read."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(fresh)) as target:
        for table in ("sweeps", "benchmarks"):
            with suppress(sqlite3.Error):
                for row in source.execute(f"SELECT * FROM {table}"):
                    marks = ", ".join("?" * len(row))
                    target.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)
        target.commit()


def _wrong(row: tuple[str, str, int, str, str, str, str]) -> str | None:
    *columns, text = row
    where = f"{row[0]}, config {row[1]}, seed {row[2]}"
    try:
        record = Record.from_json(text)
    except ValueError as error:
        return f"{where}: {error}"
    if columns != [*record.key, record.status, record.version, record.source]:
        return f"{where}: the record belongs elsewhere."
    return None


def _readable(path: Path) -> Iterator[Record]:
    """Every record that can be read, some of them more than once."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        names: set[str] = set()
        for order in ("ASC", "DESC"):
            key = f"experiment {order}, config_hash {order}, seed {order}"
            for record in _query(connection, f"SELECT record FROM cells ORDER BY {key}"):
                names.add(record.experiment)
                yield record
        for name in sorted(names):
            yield from _below(connection, name, "")


def _below(connection: sqlite3.Connection, experiment: str, prefix: str) -> Iterator[Record]:
    """Records of the configs whose hash begins so; a part that breaks off is read in smaller parts."""
    query = "SELECT record FROM cells WHERE experiment = ? AND config_hash >= ? AND config_hash < ?"
    found: list[Record] = []
    try:
        for record in _query(connection, query, (experiment, prefix, prefix + "g"), strict=True):
            found.append(record)
    except sqlite3.Error:
        if len(prefix) < _DEPTH:
            for digit in _HEX:
                yield from _below(connection, experiment, prefix + digit)
    yield from found


def _query(
    connection: sqlite3.Connection, query: str, values: tuple[str, ...] = (), *, strict: bool = False
) -> Iterator[Record]:
    """Records until the end or, unless strict, until the first damage."""
    try:
        for (text,) in connection.execute(query, values):
            with suppress(ValueError, TypeError):
                yield Record.from_json(text)
    except sqlite3.Error:
        if strict:
            raise
