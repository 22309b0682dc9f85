"""The file of a store: how it is opened, read and written, and every way it can fail in one sentence."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from karat.errors import StoreError
from karat.lab.store import layout, locks

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a damaged file raises; the second where SQLite's own message quotes bytes that are no text."""

_DAMAGED = "not a karat store any more (the file is damaged); `karat store repair` saves what can be read."


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


@contextmanager
def guard(path: Path) -> Iterator[None]:
    """Turn every way a file can fail into one line."""
    try:
        yield
    except layout.LayoutError as error:
        raise StoreError(f"{path}: {error}") from error
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{path}: {_DAMAGED}") from error
    except OSError as error:
        raise StoreError(f"{path}: the folder cannot be made ({error.strerror}).") from error


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open beside a running writer if the folder allows its lock files, else the file as it is."""
    try:
        return _prepared(_connect(path, "mode=ro"))
    except sqlite3.Error as error:
        if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    # Nobody may write in this folder. A journal left there holds records that the file does not have yet.
    journal = path.with_name(f"{path.name}-wal")
    if journal.exists() and journal.stat().st_size > 0:
        return _prepared(_with_journal(path, journal))
    return _prepared(_connect(path, "immutable=1"))


def open_to_salvage(path: Path) -> sqlite3.Connection:
    """Open a store that may be damaged, to read it; one of a newer karat is refused."""
    connection = _connect(path, "mode=ro")
    try:
        with suppress(layout.ForeignError):  # the marks may be what is damaged
            layout.check(connection)
    except DAMAGE as error:
        if _code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY):
            connection.close()
            raise
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open or make a store."""
    connection = _connect(path, "mode=rwc")
    try:
        # Nothing may be written into a file before it is known to be ours.
        layout.check(connection)
        layout.create(connection)
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        return connection
    except BaseException:
        connection.close()
        raise


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
    connection.text_factory = _text
    return connection


def _text(stored: bytes) -> str:
    """Damage leaves bytes that are no text: they are read all the same, and fail the record's digest."""
    return stored.decode("utf-8", "replace")


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        if layout.check(connection) == 0:
            raise layout.LayoutError("an empty file; `karat run` makes a store of it.")
        return connection
    except BaseException:
        connection.close()
        raise


def _with_journal(path: Path, journal: Path) -> sqlite3.Connection:
    """Join a file and its journal in memory."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    memory.text_factory = _text
    try:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "store.sqlite"
            shutil.copyfile(path, copy)
            shutil.copyfile(journal, copy.with_name(f"{copy.name}-wal"))
            with closing(_connect(copy, "mode=rw")) as source:
                source.backup(memory)
    except BaseException as error:
        memory.close()
        if isinstance(error, OSError):
            raise layout.LayoutError(f"there is no room to copy its journal ({error.strerror}).") from error
        raise
    return memory


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
        sqlite3.SQLITE_CORRUPT: _DAMAGED,
    }
    return reasons.get(_code(error), f"not a karat store, or a damaged one ({error}).")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
