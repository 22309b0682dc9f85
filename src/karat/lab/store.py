"""Finished cells in one SQLite file: a row per experiment, config and seed, safe against crashes."""

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.experiments.experiment import Cell
from karat.experiments.record import Record
from karat.lab import users
from karat.lab.connection import StoreError, guard, open_to_read, open_to_write
from karat.lab.rescue import claim_rescued, rescue
from karat.version import __version__

_PUT = """
INSERT INTO cells (experiment, config_hash, seed, status, version, source, cpu_seconds, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (experiment, config_hash, seed) DO UPDATE SET
    status = excluded.status, version = excluded.version, source = excluded.source,
    cpu_seconds = excluded.cpu_seconds, record = excluded.record, saved_at = excluded.saved_at
WHERE excluded.status <> 'failed' OR cells.status = 'failed'
"""
_FINISHED = "status IN ('done', 'diverged') AND version = ?"
_HASHES = 500
"""Config hashes per query: SQLite limits the number of parameters."""

Sources = Mapping[str, str]
"""Experiment -> hash of its present source code."""


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
        self._user: int | None = None
        with guard(self.path):
            self._connection = open_to_read(self.path) if read_only else self._open()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; records already put stay."""
        self._connection.close()
        users.leave(self._user)
        self._user = None

    def put(self, record: Record) -> None:
        """Commit one record; a failed one never replaces a finished one.

        If the store cannot take it (locked for long, damaged, disk full) the record goes to a file beside the
        store, which the next writer takes in, and the error says so.
        """
        try:
            self._insert(record)
        except StoreError as error:
            file = None if self.read_only else rescue(self.path, record)
            if file is None:
                raise
            raise StoreError(f"{error} The last record is kept in {file.name} and taken in later.") from error

    def get(self, cell: Cell) -> Record | None:
        """Return the record of a cell, whatever its status."""
        query = "SELECT record FROM cells WHERE experiment = ? AND config_hash = ? AND seed = ?"
        rows = self._rows(query, cell.key)
        return self._record(rows[0][0]) if rows else None

    def has(self, cell: Cell, sources: Sources | None = None) -> bool:
        """Whether the cell is finished, see `missing`."""
        where, values = _finished(cell.experiment, sources)
        query = f"SELECT 1 FROM cells WHERE config_hash = ? AND seed = ? AND {where}"
        return bool(self._rows(query, (cell.config_hash, cell.seed, *values)))

    def missing(self, cells: Sequence[Cell], sources: Sources | None = None) -> list[Cell]:
        """Return the cells still to be computed, each once, in order.

        Done and diverged cells are finished; failed ones and those of another version of karat are not.

        Args:
            cells: what is wanted; sources: if given, records of other source code do not count either.
        """
        finished = self._keys(cells, sources)
        return list({cell.key: cell for cell in cells if cell.key not in finished}.values())

    def stale(self, cells: Sequence[Cell], sources: Sources) -> int:
        """Return how many finished cells were computed by other source code."""
        wanted = {cell.key for cell in cells}
        return len(wanted & (self._keys(cells, None) - self._keys(cells, sources)))

    def statuses(self, experiment: str, hashes: Collection[str]) -> dict[tuple[str, int], str]:
        """Return the status of every stored cell of these configs: (config hash, seed) -> status."""
        query = "SELECT config_hash, seed, status FROM cells WHERE experiment = ?"
        rows = self._rows(query, (experiment,))
        return {(key, seed): status for key, seed, status in rows if key in hashes}

    def records(
        self,
        experiment: str | None = None,
        hashes: Collection[str] | None = None,
        status: str | None = None,
    ) -> list[Record]:
        """Return the records that match all given conditions, ordered by experiment, config hash and seed."""
        where, values = _conditions({"experiment": experiment, "status": status})
        if hashes is None:
            rows = self._rows(
                f"SELECT record FROM cells {where} ORDER BY experiment, config_hash, seed", values
            )
        else:
            rows = []
            for part in _parts(sorted(set(hashes))):
                marks = ", ".join("?" * len(part))
                chosen = f"{where or 'WHERE 1'} AND config_hash IN ({marks})"
                rows += self._rows(f"SELECT record FROM cells {chosen}", [*values, *part])
        found = [self._record(text) for (text,) in rows]
        return found if hashes is None else sorted(found, key=lambda record: record.key)

    def remove(self, experiment: str | None = None, status: str | None = None) -> int:
        """Remove the records that match all given conditions (all records without any); return how many."""
        where, values = _conditions({"experiment": experiment, "status": status})
        with guard(self.path):
            return self._connection.execute(f"DELETE FROM cells {where}", values).rowcount

    def summary(self) -> list[Summary]:
        """Return one row per experiment, in alphabetical order."""
        query = """
        SELECT experiment, SUM(status = 'done'), SUM(status = 'diverged'), SUM(status = 'failed'),
               SUM(cpu_seconds), MAX(saved_at)
        FROM cells GROUP BY experiment ORDER BY experiment
        """
        names = ("experiment", "done", "diverged", "failed", "cpu_seconds", "last_saved")
        return [Summary(**dict(zip(names, row, strict=True))) for row in self._rows(query)]

    def put_sweep(self, name: str, experiment: str, plan: Mapping[str, Any]) -> None:
        """Remember what a sweep is to compute, as strict JSON; one of the same name is replaced."""
        self._remember("sweeps", {"name": name, "experiment": experiment, "plan": json.dumps(dict(plan))})

    def sweeps(self) -> list[dict[str, Any]]:
        """Return the plans of all sweeps, the latest first."""
        rows = self._rows("SELECT plan FROM sweeps ORDER BY saved_at DESC, name")
        return [json.loads(plan) for (plan,) in rows]

    def put_benchmark(self, name: str, outcome: Mapping[str, Any]) -> None:
        """Remember the outcome of a benchmark, as strict JSON; an earlier one is replaced."""
        self._remember("benchmarks", {"name": name, "outcome": json.dumps(dict(outcome))})

    def benchmarks(self) -> dict[str, dict[str, Any]]:
        """Return the latest outcome of every benchmark, with the time it was saved."""
        rows = self._rows("SELECT name, outcome, saved_at FROM benchmarks ORDER BY name")
        return {name: json.loads(outcome) | {"saved_at": saved_at} for name, outcome, saved_at in rows}

    def _remember(self, table: str, values: dict[str, str]) -> None:
        marks = ", ".join("?" * len(values))
        query = f"INSERT OR REPLACE INTO {table} ({', '.join(values)}) VALUES ({marks})"
        with guard(self.path):
            self._connection.execute(query, list(values.values()))

    def _insert(self, record: Record) -> None:
        parts = (record.status, record.version, record.source, record.cpu_seconds, record.to_json())
        with guard(self.path):
            self._connection.execute(_PUT, (*record.key, *parts))

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._user = users.enter(self.path)
        except BlockingIOError as error:
            raise StoreError(f"{self.path}: the store is being repaired.") from error
        try:
            self._connection = open_to_write(self.path)
            self._take_in_rescued()
        except BaseException:
            if hasattr(self, "_connection"):
                self._connection.close()
            users.leave(self._user)
            raise
        return self._connection

    def _take_in_rescued(self) -> None:
        for file, records in claim_rescued(self.path):
            for record in records:
                self._insert(record)
            file.unlink(missing_ok=True)

    def _keys(self, cells: Sequence[Cell], sources: Sources | None) -> set[tuple[str, str, int]]:
        """Keys of all finished cells of the experiments that `cells` are of."""
        found: set[tuple[str, str, int]] = set()
        for experiment in {cell.experiment for cell in cells}:
            where, values = _finished(experiment, sources)
            rows = self._rows(f"SELECT config_hash, seed FROM cells WHERE {where}", values)
            found |= {(experiment, key, seed) for key, seed in rows}
        return found

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with guard(self.path):
            return self._connection.execute(query, values).fetchall()

    def _record(self, text: str) -> Record:
        try:
            return Record.from_json(text)
        except ValueError as error:
            raise StoreError(f"{self.path}: holds a damaged record ({error})") from error


def _finished(experiment: str, sources: Sources | None) -> tuple[str, list[Any]]:
    where, values = f"experiment = ? AND {_FINISHED}", [experiment, __version__]
    if sources is None:
        return where, values
    return f"{where} AND source = ?", [*values, sources[experiment]]


def _conditions(given: Mapping[str, str | None]) -> tuple[str, list[Any]]:
    kept = {name: value for name, value in given.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in kept)
    return (f"WHERE {where}" if where else ""), list(kept.values())


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[start : start + _HASHES] for start in range(0, len(values), _HASHES))
