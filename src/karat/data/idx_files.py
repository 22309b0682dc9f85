"""Bytes in the IDX format of MNIST: two zeros, the type, the number of dimensions, their sizes, the bytes."""

import gzip
import math
import struct
from pathlib import Path

import numpy as np

from karat.core.file_errors import FileError, reading, require_affordable

_BYTES = 0x08  # the type of unsigned bytes


def read_idx(path: Path, *sizes: int) -> np.ndarray:
    """Return the array of a gzipped IDX file, (n, *sizes), if it holds exactly what its header says.

    Args:
        path: the file.
        sizes: of one item, nothing for labels.
    """
    if not path.is_file():
        raise FileError(f"`{path}`: No such file.")
    dimensions = 1 + len(sizes)
    with reading(path, "a gzipped IDX file"), gzip.open(path) as file:
        magic = file.read(4)
        if magic != bytes([0, 0, _BYTES, dimensions]):
            header = magic.hex(" ") or "empty"
            raise FileError(f"`{path}` must hold bytes in {dimensions} dimensions, its header is {header}.")
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        if shape[1:] != sizes or shape[0] == 0:
            needed = " x ".join(map(str, ("n", *sizes)))
            stated = " x ".join(map(str, shape))
            raise FileError(f"`{path}` must hold {needed} bytes with n >= 1, its header says {stated}.")
        count = math.prod(shape)
        require_affordable(count, path)
        content = file.read(count + 1)
        if len(content) != count:
            more = "more" if len(content) > count else f"{len(content)}"
            raise FileError(f"`{path}` must hold the {count} bytes that its header says, it holds {more}.")
    return np.frombuffer(content, np.uint8).reshape(shape)
