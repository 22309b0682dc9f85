"""The file of a store, open: read row by row, written statement by statement, missed when it vanishes."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from karat.errors import StoreError
from karat.lab.store import locks
from karat.lab.store.opening import guard, open_to_read, open_to_write


class StoreFile:
    """An open store file, counted among its writers unless it is only read.

    Args:
        path: the file as the user calls it.
        read_only: never write.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.real_path = Path(os.path.realpath(path))
        """Where links lead: SQLite puts its journal there. It stays when the working folder changes."""
        self._writer_lock: int | None = None
        with guard(path):
            self.connection = open_to_read(self.real_path) if read_only else self._open_to_write()
        self._identity = _identity(self.real_path)
        self._journal: dict[Path, tuple[int, int] | None] = {}

    def close(self) -> None:
        """Close the file; what was written stays."""
        self.connection.close()
        locks.leave(self._writer_lock)
        self._writer_lock = None

    def stream(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows of a query."""
        with guard(self.path):
            yield from self.connection.execute(query, values)

    def write(self, query: str, values: Sequence[Any]) -> int:
        """Commit one statement and return how many rows it changed."""
        # Before: the journal may by now belong to another file of this name. After: what was committed must
        # be where we say it is.
        self._require_file()
        with guard(self.path):
            changed = self.connection.execute(query, values).rowcount
        self._require_file()
        if not self._journal:
            self._journal = {file: _identity(file) for file in self._journal_files()}
        return changed

    def has_vanished(self) -> bool:
        """Whether the name leads to another file by now, or to none; this one can still be read here."""
        return _identity(self.real_path) != self._identity

    def abandon_journal(self) -> None:
        """Take away the journal of a file that has vanished: SQLite would replay it over the next one.

        Call it when everything the file held is safe elsewhere.
        """
        for file, mine in self._journal.items():
            if mine is not None and _identity(file) == mine:
                with suppress(OSError):
                    file.unlink()

    def _journal_files(self) -> list[Path]:
        return [self.real_path.with_name(self.real_path.name + suffix) for suffix in ("-wal", "-shm")]

    def _require_file(self) -> None:
        if self.has_vanished():
            raise StoreError(f"{self.path}: the store was deleted or replaced while in use.")

    def _open_to_write(self) -> sqlite3.Connection:
        self.real_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._writer_lock = locks.enter(self.real_path)
        except BlockingIOError as error:
            raise StoreError(f"{self.path}: the store is being repaired.") from error
        except PermissionError as error:
            raise StoreError(f"{self.path}: {error}") from error
        try:
            return open_to_write(self.real_path)
        except BaseException:
            locks.leave(self._writer_lock)
            raise


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
