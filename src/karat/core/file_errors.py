"""What can be wrong with a file of others, in one sentence: damaged, unsafe, too large when opened."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SMALL = 2**29
"""Bytes that any file may take in memory, however small it is."""

GROWTH = 8
"""Bytes in memory per byte of a larger file: what compression saves, and bytes that become doubles."""


class FileError(ValueError):
    """A file cannot be used; the message is one sentence that names the file and the reason."""


class UnsafeFile(FileError):
    """A file asks for code to be run when it is opened, and was not opened."""


@contextmanager
def reading(path: str | Path, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong in here into one sentence about the file.

    Args:
        path: the file that is read.
        kind: what it should be, such as "an .npz file".
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong is said below
            yield
    except FileError:
        raise
    except MemoryError as error:
        raise FileError(f"`{path}` does not fit into memory.") from error
    except Exception as error:  # the readers of zip, pickle, NumPy and torch raise anything on damaged bytes
        raise FileError(f"`{path}` is not {kind}, or it is damaged.") from error


def require_affordable(size: int, path: str | Path, name: str | None = None) -> None:
    """Refuse what would take far more memory than its file is long.

    Args:
        size: bytes in memory.
        path: the file they come from.
        name: of the array, the whole file when None.
    """
    path = Path(path)
    most = max(SMALL, GROWTH * path.stat().st_size if path.is_file() else 0)
    if size > most:
        what = f"`{path}`" if name is None else f"`{name}` of `{path}`"
        raise FileError(
            f"{what} would take {size / 1e9:,.1f} GB of memory, more than the {most / 1e9:.1f} GB a file "
            "of its length may take: save fewer numbers, or save them uncompressed."
        )
