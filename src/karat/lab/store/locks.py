"""Who is at work on a store: locks on files beside it, which the system takes back when a process dies."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.errors import StoreError
from karat.study.experiment import Cell

try:
    import fcntl
except ImportError:  # a system without such locks does not rename files that are open, either
    fcntl = None  # type: ignore[assignment]

_WRITERS, _CELLS = ".lock", ".cells"


def open_lockfile(store: Path, suffix: str) -> int | None:
    """Open a file to be locked, made if missing; None where there are no locks.

    The file stays: one that is removed and made again would be another lock. All names of a store that lead
    to one file by symbolic links share it. Whoever may write the store may open it.

    Args:
        store: path of the store.
        suffix: behind its name.

    Raises:
        PermissionError: if the file is there but not for us; without it nobody could be kept out.
    """
    real = os.path.realpath(store)
    file = f"{real}{suffix}"
    try:
        return _made(file, real) if fcntl else None
    except FileExistsError:
        pass
    except OSError:  # nothing can be made here; the store itself will say so
        return None
    try:
        return os.open(file, os.O_RDWR)
    except PermissionError as error:
        raise PermissionError(f"its lock {Path(file).name} cannot be opened (no permission).") from error
    except OSError:
        return None


def enter(store: Path) -> int | None:
    """Count as a writer of the store until `leave` is called with what this returns.

    Args:
        store: path of the store.

    Returns:
        the open lock; None where there are no locks.

    Raises:
        BlockingIOError: while somebody is `alone` with the store.
    """
    handle = open_lockfile(store, _WRITERS)
    if handle is not None:
        _lock(handle, shared=True)
    return handle


def leave(handle: int | None) -> None:
    """Count as a writer no longer."""
    if handle is not None:
        os.close(handle)


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Keep all writers out of a store; a BlockingIOError if it has one."""
    handle = open_lockfile(store, _WRITERS)
    if handle is not None:
        _lock(handle, shared=False)
    try:
        yield
    finally:
        leave(handle)


class Reservations:
    """The cells of a store that this driver has in hand; the other drivers of the machine see them.

    A cell is one byte of a file beside the store, locked while it is computed; nothing is written. Drivers in
    one process do not see each other's.

    Args:
        store: path of the store; links that lead to one file share their reservations.
    """

    def __init__(self, store: Path) -> None:
        # Without locks cells may be computed twice, to the same numbers.
        try:
            self._file = open_lockfile(store, _CELLS)
        except PermissionError as error:
            raise StoreError(f"{store}: {error}") from error

    def __enter__(self) -> "Reservations":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def take(self, cell: Cell) -> bool:
        """Reserve a cell; False if another driver has it in hand."""
        if self._file is not None:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(cell.key))
            except (BlockingIOError, PermissionError):  # two ways of saying that it is taken
                return False
            except OSError:
                pass  # a file system without locks
        return True

    def drop(self, key: tuple[str, str, int]) -> None:
        """Give a cell back."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(key))


def _made(file: str, store: str) -> int:
    handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    with suppress(OSError):  # a store that is not there yet: then its lock is its owner's
        os.fchmod(handle, os.stat(store).st_mode & 0o666)
    return handle


def _lock(handle: int, *, shared: bool) -> None:
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        pass  # a file system without locks


def _byte(key: tuple[str, str, int]) -> int:
    """A byte for every cell, the same in every process; that two share one only makes a driver wait."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8]) >> 2
