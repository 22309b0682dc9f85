"""Finished cells in one SQLite file: a row per experiment, config and seed, safe against crashes."""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from karat.errors import StoreError
from karat.lab.store import layout
from karat.lab.store.file import StoreFile
from karat.lab.store.overview import Summary, overview
from karat.lab.store.rescue import claim_rescued, rescue
from karat.lab.store.row import COLUMNS, Row, now, sealed, unsealed
from karat.study.experiment import Cell
from karat.study.record import Record

_PUT = f"""
INSERT INTO cells ({COLUMNS}) VALUES ({", ".join("?" * len(Row._fields))})
ON CONFLICT (experiment, config_hash, seed) DO UPDATE SET
    status = excluded.status, version = excluded.version, source = excluded.source,
    cpu_seconds = excluded.cpu_seconds, saved_at = excluded.saved_at, record = excluded.record,
    digest = excluded.digest
WHERE excluded.status <> 'failed' OR cells.status = 'failed'
"""
_FINISHED = "status IN ('done', 'diverged')"
_HASHES = 500
"""Config hashes per query: SQLite limits the number of parameters."""

Sources = Mapping[str, str]
"""Experiment -> hash of its present source code."""


def default_path() -> Path:
    """Return the store named by KARAT_STORE, or .karat/store.sqlite in the working folder."""
    return Path(os.environ.get("KARAT_STORE") or Path(".karat") / "store.sqlite")


class Store:
    """The records of finished cells in one file.

    A record is committed when `put` returns and survives a crash of the process or the machine. Several
    processes may use one store at once. A failed record never replaces a finished one. A record that has
    changed since it was written is left out of everything that is read, its cell counts as missing, and
    `damaged` names it.

    Args:
        path: the file, made with its folder when missing.
        read_only: never write; the file must exist.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self.damaged: dict[str, str] = {}
        """What was left out so far -> why."""
        if read_only and not self.path.exists():
            raise StoreError(
                f"{self.path}: there is no store here yet; `karat run` and `karat reproduce` make one."
            )
        self._file = StoreFile(self.path, read_only=read_only)
        try:
            self._take_in_rescued()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; records already put stay."""
        self._file.close()

    def put(self, record: Record) -> None:
        """Commit one record; a failed one never replaces a finished one.

        If the store cannot take it (locked for long, damaged, disk full) the record goes to a file beside the
        store, which the next writer takes in, and the error says so. If the file was deleted or replaced, all
        records it held are kept in that way.
        """
        try:
            self._file.write(_PUT, Row.of(record))
        except StoreError as error:
            if self.read_only:
                raise
            raise StoreError(f"{error} {self._rescue(record)}") from error

    def get(self, cell: Cell) -> Record | None:
        """Return the record of a cell, whatever its status."""
        where = "WHERE experiment = ? AND config_hash = ? AND seed = ?"
        return next(iter(self._records(where, cell.key)), None)

    def has(self, cell: Cell, sources: Sources | None = None) -> bool:
        """Whether the cell is finished, see `missing`."""
        where, values = _finished(cell.experiment, sources)
        return bool(list(self.rows(f"{where} AND config_hash = ? AND seed = ?", (*values, *cell.key[1:]))))

    def missing(self, cells: Sequence[Cell], sources: Sources | None = None) -> list[Cell]:
        """Return the cells still to be computed, each once, in order.

        Done and diverged cells are finished, whatever version of karat computed them; failed ones are not.

        Args:
            cells: what is wanted.
            sources: if given, records of other source code do not count either.
        """
        finished = self._keys(cells, sources)
        return list({cell.key: cell for cell in cells if cell.key not in finished}.values())

    def stale(self, cells: Sequence[Cell], sources: Sources) -> int:
        """Return how many finished cells were computed by other source code."""
        keys = {cell.key for cell in cells}
        names = {cell.experiment for cell in cells}
        rows = (row for name in names for row in self.rows(*_finished(name, None)))
        return sum(row.key in keys and row.source != sources[row.experiment] for row in rows)

    def statuses(self, experiment: str, hashes: Collection[str] | None = None) -> dict[tuple[str, int], str]:
        """Return the status of every stored cell: (config hash, seed) -> status.

        Args:
            experiment: its name.
            hashes: of configs; all by default.
        """
        rows = self.rows("WHERE experiment = ?", (experiment,))
        return {
            (row.config_hash, row.seed): row.status
            for row in rows
            if hashes is None or row.config_hash in hashes
        }

    def experiments(self) -> list[str]:
        """Return the names of the experiments that have records, in alphabetical order."""
        return [name for (name,) in self._file.stream("SELECT DISTINCT experiment FROM cells ORDER BY 1")]

    def records(
        self,
        experiment: str | None = None,
        hashes: Collection[str] | None = None,
        status: str | None = None,
    ) -> list[Record]:
        """Return the records that match all given conditions, ordered by experiment, config hash and seed.

        Args:
            experiment: its name.
            hashes: of configs.
            status: how the cells ended.
        """
        where, values = _conditions({"experiment": experiment, "status": status})
        if hashes is None:
            return self._records(f"{where} ORDER BY experiment, config_hash, seed", values)
        records = []
        for part in _parts(sorted(set(hashes))):
            marks = ", ".join("?" * len(part))
            records += self._records(f"{where or 'WHERE 1'} AND config_hash IN ({marks})", [*values, *part])
        return sorted(records, key=lambda record: record.key)

    def rows(self, where: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the sound rows that an SQL condition chooses."""
        for columns in self._file.stream(f"SELECT {COLUMNS} FROM cells {where}", values):
            row = Row(*columns)
            if wrong := row.fault():
                self.damaged[row.name] = wrong
            else:
                yield row

    def integrity(self, most: int) -> tuple[int, list[str]]:
        """Return the version of the file's layout, and up to so many things that are wrong with its pages."""
        lines = [str(text) for (text,) in self._file.stream(f"PRAGMA integrity_check({most})")]
        return layout.check(self._file.connection), [line for line in lines if line != "ok"]

    def remove(self, experiment: str | None = None, status: str | None = None) -> int:
        """Remove the records that match all given conditions (all records without any); return how many."""
        where, values = _conditions({"experiment": experiment, "status": status})
        return self._file.write(f"DELETE FROM cells {where}", values)

    def summary(self) -> list[Summary]:
        """Return one row per experiment, in alphabetical order."""
        return overview(self.rows())

    def put_sweep(self, name: str, experiment: str, plan: Mapping[str, Any]) -> None:
        """Remember what a sweep is to compute, as strict JSON; one of the same name is replaced.

        Args:
            name: of the sweep.
            experiment: name of the experiment.
            plan: as strict JSON.
        """
        self._file.write(
            "INSERT OR REPLACE INTO sweeps (name, experiment, plan, saved_at, digest) VALUES (?, ?, ?, ?, ?)",
            sealed((name, experiment, json.dumps(dict(plan)), now())),
        )

    def sweeps(self) -> list[dict[str, Any]]:
        """Return the plans of all sweeps, the latest first."""
        query = "SELECT name, experiment, plan, saved_at, digest FROM sweeps ORDER BY saved_at DESC, name"
        return [plan for _, _, plan, _ in self._notes("sweep", query)]

    def put_benchmark(self, name: str, outcome: Mapping[str, Any]) -> None:
        """Remember the outcome of a benchmark, as strict JSON; an earlier one is replaced."""
        self._file.write(
            "INSERT OR REPLACE INTO benchmarks (name, outcome, saved_at, digest) VALUES (?, ?, ?, ?)",
            sealed((name, json.dumps(dict(outcome)), now())),
        )

    def benchmarks(self) -> dict[str, dict[str, Any]]:
        """Return the latest outcome of every benchmark, with the time it was saved."""
        query = "SELECT name, outcome, saved_at, digest FROM benchmarks ORDER BY name"
        return {
            name: outcome | {"saved_at": saved_at}
            for name, outcome, saved_at in self._notes("benchmark", query)
        }

    def _take_in_rescued(self) -> None:
        for file, records in [] if self.read_only else claim_rescued(self._file.real_path):
            for record in records:
                self._file.write(_PUT, Row.of(record))
            with suppress(OSError):
                file.unlink()

    def _rescue(self, record: Record) -> str:
        """Keep a record that could not be saved, and all of a vanished file; say what became of them."""
        records = [record]
        if self._file.has_vanished():
            with suppress(StoreError):  # the file has no name any more, but is still open here
                records = [*self.records(), record]
        count = len({rescued.key for rescued in records})
        what = "The last record is" if count == 1 else f"All {count} records are"
        file = rescue(self._file.real_path, records)
        if file is None:
            return f"{what} lost: no file can be written beside the store either."
        if self._file.has_vanished():
            self._file.abandon_journal()
        return f"{what} kept in {file.name} and taken in later."

    def _keys(self, cells: Sequence[Cell], sources: Sources | None) -> set[tuple[str, str, int]]:
        """Keys of all finished cells of the experiments that `cells` are of."""
        names = {cell.experiment for cell in cells}
        return {row.key for name in names for row in self.rows(*_finished(name, sources))}

    def _records(self, where: str, values: Sequence[Any]) -> list[Record]:
        records = []
        for columns in self._file.stream(f"SELECT {COLUMNS} FROM cells {where}", values):
            row = Row(*columns)
            try:
                records.append(row.to_record())
            except ValueError as error:
                self.damaged[row.name] = str(error)
        return records

    def _notes(self, kind: str, query: str) -> Iterator[list[Any]]:
        """Rows of strict JSON that are not records; the column of JSON is the last but one."""
        for columns in self._file.stream(query):
            try:
                *names, text, saved_at = unsealed(columns)
                yield [*names, json.loads(text), saved_at]
            except (ValueError, TypeError, RecursionError) as error:
                self.damaged[f"{kind} {columns[0]}"] = str(error)


def _finished(experiment: str, sources: Sources | None) -> tuple[str, list[Any]]:
    where = f"WHERE experiment = ? AND {_FINISHED}"
    if sources is None:
        return where, [experiment]
    return f"{where} AND source = ?", [experiment, sources[experiment]]


def _conditions(columns: Mapping[str, str | None]) -> tuple[str, list[Any]]:
    conditions = {name: value for name, value in columns.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in conditions)
    return (f"WHERE {where}" if where else ""), list(conditions.values())


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[start : start + _HASHES] for start in range(0, len(values), _HASHES))
