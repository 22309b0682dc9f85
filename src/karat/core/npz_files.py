"""Arrays of .npz files: read one by one, when they are asked for, after their size is known."""

import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from karat.core.file_errors import FileError, UnsafeFile, reading, require_affordable

KIND = "an .npz file"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""Later versions only add names of columns, and tables with columns are no tensors."""


class NpzTensors(Mapping[str, Tensor]):
    """The arrays of a file by name; one that nobody asks for costs nothing.

    Args:
        path: written by `numpy.savez` or `numpy.savez_compressed`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sizes: dict[str, int] = {}  # of the arrays read so far
        with reading(path, KIND), zipfile.ZipFile(path) as archive:
            self._members = {
                member.filename.removesuffix(".npy"): member.filename for member in archive.infolist()
            }

    def __getitem__(self, name: str) -> Tensor:
        """Read one array."""
        member = self._members[name]
        with (
            reading(self._path, KIND),
            zipfile.ZipFile(self._path) as archive,
            archive.open(member) as stream,
        ):
            info = archive.getinfo(member)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileError(f"`{name}` of `{self._path}` is compressed in a way that NumPy never writes.")
            size = self._size(stream, name)
            if stream.tell() + size > info.file_size:
                raise FileError(f"`{name}` of `{self._path}` is shorter than its header says.")
            self._sizes[name] = size
            require_affordable(sum(self._sizes.values()), self._path, name)
            stream.seek(0)
            array = np.lib.format.read_array(stream, allow_pickle=False)
            native = array.dtype.newbyteorder("=")
            return torch.from_numpy(
                np.ascontiguousarray(array).reshape(array.shape).astype(native, copy=False)
            )

    def __iter__(self) -> Iterator[str]:
        """Return the names of the arrays."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._members)

    def _size(self, stream: IO[bytes], name: str) -> int:
        """The bytes of an array by its header; what is no table of numbers is refused before it is read."""
        if not name or not self._members[name].endswith(".npy"):
            raise FileError(f"`{name}` of `{self._path}` is no array.")
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
        if dtype.hasobject:
            raise UnsafeFile(f"`{self._path}` holds Python objects, which can run any code when opened.")
        if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype in (np.longdouble, np.clongdouble):
            raise FileError(f"`{name}` of `{self._path}` must hold numbers, got {dtype}.")
        if min(shape, default=0) < 0:
            raise FileError(f"`{name}` of `{self._path}` has a negative shape, {shape}.")
        return math.prod(shape) * dtype.itemsize
