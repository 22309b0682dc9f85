"""Files beside a store that exist only to be locked: the system takes the locks back when a process dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl as fcntl  # for the reservations of cells, too
except ImportError:  # a system without such locks does not rename files that are open, either
    fcntl = None  # type: ignore[assignment]

_WRITERS = ".lock"


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
