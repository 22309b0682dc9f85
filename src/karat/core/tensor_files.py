"""Tensors from files of others: .pt, .safetensors and .npz, read without running any code of the file."""

import pickle
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.torch_version import TorchVersion

from karat.core.file_errors import FileError, UnsafeFile, reading, require_affordable
from karat.core.npz_files import NpzTensors

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npz")
SAFE_TORCH = "2.10"
"""First release whose `torch.load(weights_only=True)` is not known to run code or to corrupt memory."""

_KIND = "a file of `torch.save`"
_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")


def read_tensor_file(path: str | Path, *, trust_pickle: bool = False) -> Any:
    """What a file holds: mappings, lists and numbers around tensors, all on the CPU.

    Arrays of an .npz file are read when they are asked for. What the tensors of a .pt file look like is only
    known after `plain_tensor` or `tensors_of`.

    Args:
        path: .pt, .pth, .ckpt or .bin written by `torch.save`, .safetensors, or .npz.
        trust_pickle: run the code that a .pt file asks for; only for files whose maker you trust.

    Raises:
        FileError: the file is damaged or of another kind. UnsafeFile: it needs code and is not trusted.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise FileError(f"`{path}` must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    if not path.is_file():
        raise FileError(f"`{path}`: No such file.")
    try:
        path.open("rb").close()
    except OSError as error:
        raise FileError(f"`{path}`: {error.strerror}.") from error
    if path.suffix == ".npz":
        return NpzTensors(path)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    return _read_torch(path, trust_pickle)


def tensors_of(content: Any, path: str | Path) -> dict[str, Tensor]:
    """The named tensors of what a file holds; anything else in it is an error."""
    if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
        raise FileError(f"`{path}` must hold tensors by name, got {type(content).__name__}.")
    if not content:
        raise FileError(f"`{path}` must hold tensors by name; it is empty.")
    tensors = {name: plain_tensor(value, name, path) for name, value in content.items()}
    require_affordable(sum(tensor.nbytes for tensor in tensors.values()), path)
    return tensors


def plain_tensor(value: Any, name: str, path: str | Path) -> Tensor:
    """The value as a table of numbers in memory that costs about as much as its file is long.

    Args:
        value: what stands under the name.
        name: in the file.
        path: of the file.
    """
    if not isinstance(value, Tensor):
        raise FileError(f"`{path}` must hold tensors by name; `{name}` is {type(value).__name__}.")
    kinds = {
        "nested": value.is_nested,
        "quantised": value.is_quantized,
        "sparse": value.layout != torch.strided,
        f"on the device `{value.device}`": value.device.type != "cpu",
        f"of {value.dtype}": not _is_number(value.dtype),
    }
    odd = [kind for kind, is_so in kinds.items() if is_so]
    if odd:
        raise FileError(f"`{name}` of `{path}` must be a plain tensor of numbers, but it is {odd[0]}.")
    # A tensor may repeat one stored number a billion times, at no cost until it is copied.
    require_affordable(value.nbytes, path, name)
    return value.detach()


@cache
def _is_number(kind: torch.dtype) -> bool:
    """Whether numbers of the kind can be converted: torch also has names for bits and tiny integers."""
    try:
        torch.empty(1, dtype=kind).to(torch.complex128)
    except RuntimeError:
        return False
    return True


def _read_torch(path: Path, trust_pickle: bool) -> Any:
    if not trust_pickle and TorchVersion(torch.__version__) < SAFE_TORCH:
        raise UnsafeFile(
            f"`{path}` was not opened: with torch {torch.__version__} a .pt file can run code; "
            f"use torch {SAFE_TORCH} or later, or save the weights as .safetensors or .npz."
        )
    with reading(path, _KIND):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                require_affordable(sum(member.file_size for member in archive.infolist()), path)
        try:
            return torch.load(path, map_location="cpu", weights_only=not trust_pickle)
        except pickle.UnpicklingError as error:
            asked = _GLOBAL.search(str(error))
            if asked is None and trust_pickle:
                raise
            wish = f"asks for `{asked[1]}`" if asked else "is a plain pickle"
            raise UnsafeFile(
                f"`{path}` {wish}, which can run any code when opened, and was not opened: save the model's "
                "`state_dict()` instead, or allow it with `--trust-pickle` (`trust_pickle=True`) if you "
                "trust its maker."
            ) from error
        except RuntimeError as error:
            if "TorchScript" not in str(error):
                raise
            raise FileError(
                f"`{path}` is a TorchScript archive; save the model's `state_dict()` instead."
            ) from error
        except ImportError as error:  # only a trusted pickle imports anything
            raise FileError(f"`{path}` needs code that is not here: {error}.") from error


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        from safetensors.torch import load_file
    except ModuleNotFoundError as error:
        raise FileError(f"`{path}` needs the `models` extra: pip install 'karat[models]'.") from error
    with reading(path, "a safetensors file"):
        return dict(load_file(path))


__all__ = ["SUFFIXES", "FileError", "UnsafeFile", "plain_tensor", "read_tensor_file", "tensors_of"]
