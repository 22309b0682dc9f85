"""Tensors from files of others: .pt, .safetensors and .npz, read without running any code of the file."""

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npz")
_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")
_BROKEN = (RuntimeError, EOFError, KeyError, IndexError, AttributeError, TypeError, ValueError)


class FileError(ValueError):
    """A file cannot be used; the message is one sentence that names the file and the reason."""


class UnsafeFile(FileError):
    """A file asks for code to be run when it is opened, and was not opened."""


def read_tensor_file(path: str | Path, *, trust_pickle: bool = False) -> Any:
    """What a file holds: mappings, lists and numbers around tensors, all on the CPU.

    Args:
        path: .pt, .pth, .ckpt or .bin written by `torch.save`, .safetensors, or .npz;
        trust_pickle: run the code that a .pt file asks for; only for files whose maker you trust.

    Raises:
        FileError: the file is damaged or of another kind. UnsafeFile: it needs code and is not trusted.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise FileError(f"`{path}` must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    if not path.is_file():
        raise FileError(f"`{path}`: No such file.")
    if path.suffix == ".npz":
        return _read_npz(path)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    return _read_torch(path, trust_pickle)


def tensors_of(found: Any, path: str | Path) -> dict[str, Tensor]:
    """The named tensors of what a file holds; anything else in it is an error."""
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise FileError(f"`{path}` must hold tensors by name, got {type(found).__name__}.")
    other = [name for name, value in found.items() if not isinstance(value, Tensor)]
    if other or not found:
        reason = f"`{other[0]}` is {type(found[other[0]]).__name__}" if other else "it is empty"
        raise FileError(f"`{path}` must hold tensors by name; {reason}.")
    return dict(found)


def _read_torch(path: Path, trust_pickle: bool) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong is said below, in one sentence
            return torch.load(path, map_location="cpu", weights_only=not trust_pickle)
    except pickle.UnpicklingError as error:
        asked = _GLOBAL.search(str(error))
        if asked is None and trust_pickle:
            raise FileError(f"`{path}` is not a file of `torch.save`, or it is damaged.") from error
        wish = f"asks for `{asked[1]}`" if asked else "is a plain pickle"
        raise UnsafeFile(
            f"`{path}` {wish}, which can run any code when opened, and was not opened: save the model's "
            "`state_dict()` instead, or allow it with `--trust-pickle` (`trust_pickle=True`) if you trust "
            "its maker."
        ) from error
    except RuntimeError as error:
        if "TorchScript" in str(error):
            raise FileError(
                f"`{path}` is a TorchScript archive; save the model's `state_dict()` instead."
            ) from error
        raise FileError(f"`{path}` is not a file of `torch.save`, or it is damaged.") from error
    except ImportError as error:  # only a trusted pickle imports anything
        raise FileError(f"`{path}` needs code that is not here: {error}.") from error
    except _BROKEN as error:
        raise FileError(f"`{path}` is not a file of `torch.save`, or it is damaged.") from error


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ModuleNotFoundError as error:
        raise FileError(f"`{path}` needs the `models` extra: pip install 'karat[models]'.") from error
    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise FileError(f"`{path}` is not a safetensors file, or it is damaged.") from error


def _read_npz(path: Path) -> dict[str, Tensor]:
    try:
        # Opened here: NumPy leaves a file open that turns out to be no archive.
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except ValueError as error:
        if "Object arrays" in str(error):
            raise UnsafeFile(f"`{path}` holds Python objects, which can run any code when opened.") from error
        raise FileError(f"`{path}` is not an .npz file, or it is damaged.") from error
    except (zipfile.BadZipFile, AttributeError, EOFError) as error:
        raise FileError(f"`{path}` is not an .npz file, or it is damaged.") from error
    return {name: _tensor(array, name, path) for name, array in arrays.items()}


def _tensor(array: np.ndarray, name: str, path: Path) -> Tensor:
    try:
        return torch.from_numpy(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=False))
    except TypeError as error:
        raise FileError(f"`{name}` of `{path}` must hold numbers, got {array.dtype}.") from error
