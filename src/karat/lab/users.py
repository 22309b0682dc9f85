"""Who has a store open for writing: a lock the system takes back when a process dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from karat.lab.lockfile import fcntl, open_lockfile

_LOCK = ".lock"


def enter(store: Path) -> int | None:
    """Count as a writer until `leave`; None where there are no locks, BlockingIOError while one is alone."""
    handle = open_lockfile(store, _LOCK)
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
    handle = open_lockfile(store, _LOCK)
    if handle is not None:
        _lock(handle, shared=False)
    try:
        yield
    finally:
        leave(handle)


def _lock(handle: int, *, shared: bool) -> None:
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        pass  # a file system without locks
