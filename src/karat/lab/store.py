"""Finished cells in one SQLite file: a row per experiment, config and seed, safe against crashes."""

import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.experiments.experiment import Cell
from karat.experiments.record import Record
from karat.lab import schema
from karat.version import __version__

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

_PUT = """
INSERT INTO cells (experiment, config_hash, seed, status, version, cpu_seconds, record)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (experiment, config_hash, seed) DO UPDATE SET
    status = excluded.status, version = excluded.version, cpu_seconds = excluded.cpu_seconds,
    record = excluded.record, saved_at = excluded.saved_at
WHERE excluded.status <> 'failed' OR cells.status = 'failed'
"""


class StoreError(Exception):
    """A store cannot be opened, read or written; the message is one line that names the file."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a store holds of one experiment."""

    experiment: str
    done: int
    diverged: int
    failed: int
    cpu_seconds: float
    last_saved: str


def default_path() -> Path:
    """Return the store named by KARAT_STORE, or .karat/store.sqlite in the working folder."""
    return Path(os.environ.get("KARAT_STORE") or Path(".karat") / "store.sqlite")


class Store:
    """The records of finished cells in one file.

    A record is committed when `put` returns and survives a crash of the process or the machine. Several
    processes may use one store at once. A failed record never replaces a finished one.

    Args:
        path: the file, made with its folder when missing; read_only: never write; the file must exist.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        if read_only and not self.path.exists():
            raise StoreError(
                f"{self.path}: there is no store here yet; `karat run` and `karat reproduce` make one."
            )
        with self._guard():
            self._connection = self._open_to_read() if read_only else self._open_to_write()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; records already put stay."""
        self._connection.close()

    def put(self, record: Record) -> None:
        """Commit one record; a failed one never replaces a finished one."""
        row = (*record.key, record.status, record.version, record.cpu_seconds, record.to_json())
        with self._guard():
            self._connection.execute(_PUT, row)

    def get(self, cell: Cell) -> Record | None:
        """Return the record of a cell, whatever its status."""
        with self._guard():
            query = "SELECT record FROM cells WHERE experiment = ? AND config_hash = ? AND seed = ?"
            row = self._connection.execute(query, cell.key).fetchone()
        return None if row is None else self._record(row[0])

    def missing(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells still to be computed, each once, in order.

        Done and diverged cells are finished; failed ones and those of another version of karat are not.
        """
        with self._guard():
            query = "SELECT experiment, config_hash, seed FROM cells WHERE status <> 'failed' AND version = ?"
            finished = set(self._connection.execute(query, (__version__,)))
        return list({cell.key: cell for cell in cells if cell.key not in finished}.values())

    def records(
        self,
        experiment: str | None = None,
        hashes: Collection[str] | None = None,
        status: str | None = None,
    ) -> list[Record]:
        """Return the records that match all given conditions, ordered by experiment, config hash and seed."""
        where, values = _conditions(experiment, status)
        with self._guard():
            query = f"SELECT config_hash, record FROM cells {where} ORDER BY experiment, config_hash, seed"
            rows = self._connection.execute(query, values).fetchall()
        return [self._record(text) for key, text in rows if hashes is None or key in hashes]

    def remove(self, experiment: str | None = None, status: str | None = None) -> int:
        """Remove the records that match all given conditions (all records without any); return how many."""
        where, values = _conditions(experiment, status)
        with self._guard():
            return self._connection.execute(f"DELETE FROM cells {where}", values).rowcount

    def summary(self) -> list[Summary]:
        """Return one row per experiment, in alphabetical order."""
        query = """
        SELECT experiment, SUM(status = 'done'), SUM(status = 'diverged'), SUM(status = 'failed'),
               SUM(cpu_seconds), MAX(saved_at)
        FROM cells GROUP BY experiment ORDER BY experiment
        """
        with self._guard():
            rows = self._connection.execute(query).fetchall()
        names = ("experiment", "done", "diverged", "failed", "cpu_seconds", "last_saved")
        return [Summary(**dict(zip(names, row, strict=True))) for row in rows]

    def _record(self, text: str) -> Record:
        try:
            return Record.from_json(text)
        except ValueError as error:
            raise StoreError(f"{self.path}: holds a damaged record ({error})") from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?{mode}"
        return sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)

    def _open_to_read(self) -> sqlite3.Connection:
        """Beside a running writer if the folder allows its lock files, else the file as it is."""
        for mode in ("mode=ro", "immutable=1"):
            connection = self._connect(mode)
            try:
                if schema.check(connection) != schema.VERSION:
                    raise schema.SchemaError("an empty or older store; `karat run` brings it up to date.")
                return connection
            except BaseException as error:
                connection.close()
                if mode == "immutable=1" or _code(error) != sqlite3.SQLITE_CANTOPEN:
                    raise
        raise AssertionError("unreachable")

    def _open_to_write(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = self._connect("mode=rwc")
        try:
            # Nothing may be written into a file before it is known to be ours.
            schema.check(connection)
            schema.upgrade(connection)
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")
            return connection
        except BaseException:
            connection.close()
            raise

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn every way a file can fail into one line."""
        try:
            yield
        except schema.SchemaError as error:
            raise StoreError(f"{self.path}: {error}") from error
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {_reason(error)}") from error
        except OSError as error:
            raise StoreError(f"{self.path}: the folder cannot be made ({error.strerror}).") from error


def _conditions(experiment: str | None, status: str | None) -> tuple[str, list[Any]]:
    given = {"experiment": experiment, "status": status}
    kept = {name: value for name, value in given.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in kept)
    return (f"WHERE {where}" if where else ""), list(kept.values())


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work side by side; SQLite does not wait for locks here, so we do."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _code(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF  # the low byte is the primary code


def _reason(error: sqlite3.Error) -> str:
    reasons = {
        sqlite3.SQLITE_FULL: "the disk is full; finished cells are kept, free some space and run again.",
        sqlite3.SQLITE_IOERR: "the disk cannot be read or written; finished cells are kept.",
        sqlite3.SQLITE_READONLY: "the store cannot be written (read-only file or folder).",
        sqlite3.SQLITE_CANTOPEN: "the store cannot be opened (no access to the file or its folder).",
        sqlite3.SQLITE_BUSY: f"another program has kept the store locked for {PATIENCE:.0f} s.",
        sqlite3.SQLITE_NOTADB: "not a karat store (not an SQLite file).",
        sqlite3.SQLITE_CORRUPT: "not a karat store any more (the file is damaged); restore or remove it.",
    }
    return reasons.get(_code(error), f"not a karat store, or a damaged one ({error}).")
