"""Which cells some driver has in hand: each is a lock the system takes back when the driver dies."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from karat.errors import StoreError
from karat.lab.store.locks import fcntl, open_lockfile
from karat.study.experiment import Cell


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
            self._file = open_lockfile(store, ".cells")
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


def _byte(key: tuple[str, str, int]) -> int:
    """A byte for every cell, the same in every process; that two share one only makes a driver wait."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8]) >> 2
