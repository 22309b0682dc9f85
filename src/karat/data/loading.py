"""Samples for a user's own model: a file with x and y, or one of karat's sets by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from karat.core.checks import ShapeError, require_integer
from karat.core.file_errors import require_affordable
from karat.core.tensor_files import SUFFIXES, FileError, plain_tensor, read_tensor_file
from karat.data.digits import default_source, load_digits
from karat.data.images import SETS, load_images

NAMES = (*SETS, "digits01")
"""Sets that can be named: the images of `data.images`, and the digits 0 and 1 as vectors with labels +-1."""

_LARGEST_CLASS = 2**53  # beyond it, floats are no exact indices


@dataclass(frozen=True, eq=False)
class Chosen:
    """Samples taken out of a larger set.

    Args:
        x: (n, ...) inputs.
        y: (n,) labels.
        places: (n,) which of the set they are.
        total: size of the set.
    """

    x: Tensor
    y: Tensor
    places: Tensor
    total: int


def load_samples(
    source: str | Path, count: int | None = None, *, trust_pickle: bool = False
) -> tuple[Tensor, Tensor]:
    """Inputs (n, ...) and labels (n,) from a file or a set; test images where a set has a test part.

    A file (.npz, .pt, .safetensors) holds `x` and `y`, or `x_test` and `y_test`, or as .pt the pair (x, y).
    Whole-number images of 8 bits are divided by 255. `count` samples are taken evenly spaced, because files
    are often sorted by class.

    Args:
        source: path of a file, or one of `NAMES`.
        count: how many, all when None.
        trust_pickle: see `read_tensor_file`.

    Returns:
        x in float32 (float64 stays), and y: whole numbers as class indices, other numbers as they are.

    >>> x, y = load_samples("digits01", 10)
    >>> x.shape, y.unique().tolist()
    (torch.Size([10, 784]), [-1.0, 1.0])
    """
    chosen = choose_samples(source, count, trust_pickle=trust_pickle)
    return chosen.x, chosen.y


def choose_samples(source: str | Path, count: int | None = None, *, trust_pickle: bool = False) -> Chosen:
    """The samples of `load_samples`, and which ones they are; only these are copied and converted.

    Args:
        source: path of a file, or one of `NAMES`.
        count: how many, all when None.
        trust_pickle: see `read_tensor_file`.
    """
    name = str(source)
    is_set = name in NAMES
    if is_set:
        x, y = _named(name)
    elif Path(name).suffix in SUFFIXES:
        x, y = _pair(read_tensor_file(name, trust_pickle=trust_pickle), name)
    else:
        raise FileError(
            f"data are a file .npz, .pt or .safetensors, or one of {', '.join(NAMES)}; got {name!r}."
        )
    _require_inputs(x, name)
    y = _labels(y, name)
    if len(x) != len(y) or len(x) == 0:
        raise ShapeError(f"`x` and `y` of `{name}` must be as many and at least one, got {len(x)}, {len(y)}.")
    total, places = len(x), _spaced(len(x), count)
    if places is None:
        places = torch.arange(total)
    else:
        x, y = x[places], y[places]
    if not is_set:
        require_affordable(x.numel() * (8 if x.dtype == torch.float64 else 4), name, "x")
    return Chosen(_converted(x, name), y, places, total)


def evenly(x: Tensor, y: Tensor, count: int | None) -> tuple[Tensor, Tensor]:
    """At most so many samples, evenly spaced over the whole set.

    Args:
        x: (n, ...) inputs.
        y: (n,) labels.
        count: how many, all when None.

    >>> evenly(torch.arange(10), torch.arange(10), 3)[0]
    tensor([0, 4, 9])
    """
    places = _spaced(len(x), count)
    return (x, y) if places is None else (x[places], y[places])


def _spaced(total: int, count: int | None) -> Tensor | None:
    """The places of `count` samples among `total`; None for all of them."""
    if count is None or require_integer(count, "count", "load_samples", minimum=1) >= total:
        return None
    return torch.linspace(0, total - 1, count, dtype=torch.float64).floor().long()


def _named(name: str) -> tuple[Tensor, Tensor]:
    if name == "digits01":
        digits = load_digits(default_source(), train=False)
        return digits.x, digits.y
    return load_images(name, train=False)


def _pair(content: Any, name: str) -> tuple[Tensor, Tensor]:
    if isinstance(content, list | tuple) and len(content) == 2:
        content = {"x": content[0], "y": content[1]}
    if not isinstance(content, Mapping):
        raise FileError(f"`{name}` must hold `x` and `y`, got {type(content).__name__}.")
    tail = "_test" if "x" not in content and "x_test" in content else ""
    for key in (f"x{tail}", f"y{tail}"):
        if key not in content:
            held = ", ".join(str(other)[:40] for other in list(content)[:5]) or "nothing"
            raise FileError(f"`{name}` must hold tensors `x` and `y`; `{key}` is missing, it holds {held}.")
    x, y = (plain_tensor(content[key], key, name) for key in (f"x{tail}", f"y{tail}"))
    return x, y


def _require_inputs(x: Tensor, name: str) -> None:
    if x.dim() < 2:
        raise ShapeError(f"`x` of `{name}` must have shape (n, ...), got {tuple(x.shape)}.")
    if x.dim() == 4 and x.shape[-1] in (1, 3) and x.shape[1] == x.shape[2] and x.shape[1] not in (1, 3):
        raise ShapeError(
            f"images in `{name}` must be (n, channels, height, width), got {tuple(x.shape)}: transpose them."
        )
    if x.is_complex() or x.dtype == torch.bool:
        raise FileError(f"`x` of `{name}` must hold real numbers, got {x.dtype}.")


def _converted(x: Tensor, name: str) -> Tensor:
    if x.dtype == torch.uint8:
        return x.float() / 255
    x = x if x.dtype == torch.float64 else x.float()
    if not bool(torch.isfinite(x).all()):
        raise FileError(f"`x` of `{name}` must hold finite numbers.")
    return x


def _labels(y: Tensor, name: str) -> Tensor:
    y = y.squeeze(1) if y.dim() == 2 and y.shape[1] == 1 else y
    if y.dim() != 1:
        hint = ": pass class indices instead of one column per class" if y.dim() == 2 else ""
        raise ShapeError(f"`y` of `{name}` must have shape (n,), got {tuple(y.shape)}{hint}.")
    if y.is_complex():
        raise FileError(f"`y` of `{name}` must hold labels +-1 or class indices, got {y.dtype}.")
    if y.is_floating_point():
        y = y.float() if y.element_size() == 1 else y  # floats of 8 bits know no arithmetic
        odd = y[(y != y.round()) | (y.abs() > _LARGEST_CLASS)]
        if len(odd):
            raise FileError(f"`y` of `{name}` must hold labels +-1 or class indices, got {float(odd[0]):g}.")
        return y if bool((y.abs() == 1).all()) else y.long()
    y = y.long()
    return y.float() if bool((y == -1).any()) and bool((y.abs() == 1).all()) else y
