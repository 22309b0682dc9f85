"""Who has a store open for writing: a lock the system takes back when a process dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without such locks does not rename files that are open, either
    fcntl = None  # type: ignore[assignment]


def enter(store: Path) -> int | None:
    """Count as a writer until `leave`; None where there are no locks, BlockingIOError while one is alone."""
    handle = _open(store)
    if handle is not None:
        _lock(handle, shared=True)
    return handle


def leave(handle: int | None) -> None:
    """Count no longer."""
    if handle is not None:
        os.close(handle)


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Keep all writers out; BlockingIOError if there is one."""
    handle = _open(store)
    if handle is not None:
        _lock(handle, shared=False)
    try:
        yield
    finally:
        leave(handle)


def _open(store: Path) -> int | None:
    # The file stays: one that is removed and made again would be another lock. All names of a store that
    # lead to one file by symbolic links share it.
    with suppress(OSError):
        if fcntl:
            return os.open(f"{os.path.realpath(store)}.lock", os.O_CREAT | os.O_RDWR, 0o600)
    return None


def _lock(handle: int, *, shared: bool) -> None:
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        pass  # a file system without locks
