"""What can be saved of a store that is damaged."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from karat.errors import StoreError
from karat.lab.store import locks
from karat.lab.store.file import DAMAGE, guard, open_to_salvage, open_to_write
from karat.lab.store.row import COLUMNS, Row, unsealed

_HEX = "0123456789abcdef"
_DEPTH = 3
_OTHER_TABLES = {
    "sweeps": "name, experiment, plan, saved_at, digest",
    "benchmarks": "name, outcome, saved_at, digest",
}


@dataclass(frozen=True, kw_only=True)
class Salvage:
    """What `repair` did.

    Args:
        records: how many were saved.
        left: what could be read but is damaged -> why; it stays in the damaged file alone.
        backup: where that file was put.
    """

    records: int
    left: dict[str, str]
    backup: Path


def repair(path: Path) -> Salvage:
    """Copy every sound record, sweep and benchmark into a new store; the damaged file is kept beside it.

    Reading: SQLite reads a table until it meets a damaged page, so the table is read as it lies, from both
    ends of its key and then in parts of the key, at last row by row, as far as they can be read.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no store here.")
    real_path = Path(os.path.realpath(path))
    if not os.access(real_path.parent, os.W_OK):
        raise StoreError(f"{path}: its folder cannot be written; copy the store and repair the copy.")
    fresh, backup = _unused(real_path, ".repaired"), _unused(real_path, ".damaged")
    with _alone(path), guard(path):
        with closing(open_to_salvage(real_path)) as damaged:
            left: dict[str, str] = {}
            saved = {row.key: row for row in _sound(_readable(damaged), left)}
            if not saved:
                raise StoreError(f"{path}: no record can be read; the file is left as it is.")
            try:
                _write(fresh, saved.values(), damaged)
            except BaseException:
                _move(fresh, None)
                raise
        try:
            _move(real_path, backup)
            fresh.rename(real_path)
        except OSError as error:
            raise StoreError(f"{path}: cannot be renamed ({error.strerror}).") from error
    return Salvage(records=len(saved), left=left, backup=backup)


def _unused(path: Path, suffix: str) -> Path:
    """Return the path with the suffix, numbered if that file exists: no backup replaces another."""
    names = (f"{path.name}{suffix}{number}" for number in ["", *(f".{count}" for count in range(2, 1000))])
    return next(file for name in names if not (file := path.with_name(name)).exists())


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        with locks.alone(path):
            yield
    except BlockingIOError as error:
        raise StoreError(f"{path}: a running sweep uses the store.") from error
    except PermissionError as error:
        raise StoreError(f"{path}: {error}") from error


def _move(store: Path, target: Path | None) -> None:
    """Rename a store with its journal, or remove it."""
    for suffix in ("", "-wal", "-shm"):
        file = store.with_name(store.name + suffix)
        with suppress(FileNotFoundError):
            if target is None:
                file.unlink()
            else:
                file.rename(target.with_name(target.name + suffix))


def _write(fresh: Path, rows: Iterable[Row], damaged: sqlite3.Connection) -> None:
    """Make a store of these rows, and of what can be read of the other tables, row by row."""
    with closing(open_to_write(fresh)) as target:
        target.execute("BEGIN")
        marks = ", ".join("?" * len(Row._fields))
        target.executemany(f"INSERT INTO cells ({COLUMNS}) VALUES ({marks})", rows)
        for table, columns in _OTHER_TABLES.items():
            with suppress(*DAMAGE):
                for row in damaged.execute(f"SELECT {columns} FROM {table}"):
                    with suppress(ValueError):
                        unsealed(row)
                        marks = ", ".join("?" * len(row))
                        target.execute(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", row)
        target.execute("COMMIT")


def _sound(rows: Iterable[Row], left: dict[str, str]) -> Iterator[Row]:
    """The rows that are as they were written; the others are named in `left`."""
    for row in rows:
        if wrong := row.fault():
            left[row.name] = wrong
        else:
            yield row


def _readable(connection: sqlite3.Connection) -> Iterator[Row]:
    """Every row that can be read, some of them more than once."""
    names: set[str] = set()
    ends = (f"ORDER BY experiment {to}, config_hash {to}, seed {to}" for to in ("ASC", "DESC"))
    for order in ("", *ends):
        with suppress(*DAMAGE):
            for row in _query(connection, order):
                names.add(str(row.experiment))
                yield row
    for name in sorted(names):
        yield from _below(connection, name, "")


def _below(connection: sqlite3.Connection, experiment: str, prefix: str) -> Iterator[Row]:
    """Rows of the configs whose hash begins so; a part that breaks off is read in smaller parts."""
    where = "WHERE experiment = ? AND config_hash >= ? AND config_hash < ?"
    try:
        yield from _query(connection, where, (experiment, prefix, prefix + "g"))
    except DAMAGE:
        if len(prefix) < _DEPTH:
            for digit in _HEX:
                yield from _below(connection, experiment, prefix + digit)
        else:
            yield from _one_by_one(connection, where, (experiment, prefix, prefix + "g"))


def _one_by_one(connection: sqlite3.Connection, where: str, values: tuple[str, ...]) -> Iterator[Row]:
    """Rows looked up by their keys, which stand in an index of their own."""
    with suppress(*DAMAGE):
        for key in connection.execute(f"SELECT experiment, config_hash, seed FROM cells {where}", values):
            with suppress(*DAMAGE):
                yield from _query(connection, "WHERE experiment = ? AND config_hash = ? AND seed = ?", key)


def _query(connection: sqlite3.Connection, where: str, values: tuple[str, ...] = ()) -> Iterator[Row]:
    return (Row(*columns) for columns in connection.execute(f"SELECT {COLUMNS} FROM cells {where}", values))
