"""Real colour and grey images with class indices: embedded digits, or sets found under KARAT_DATA."""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from karat.core.checks import require_choice
from karat.core.file_errors import FileError
from karat.core.npz_files import NpzTensors
from karat.data import digits

FILES = {
    "cifar10": "cifar10/cifar10_10class_5000_1000.npz",
    "cifar10_pair": "cifar10/cifar10_airplane_automobile.npz",
    "svhn": "svhn/svhn_10class_5000_1000.npz",
    "svhn_pair": "svhn/svhn_digits01_3000_600.npz",
    "tiny_imagenet": "tinyimagenet/tinyimagenet10_1000_500.npz",
}
"""Set -> its file under KARAT_DATA; "pair" sets hold classes 0 and 1 only."""

SETS = ("digits", "mnist", *FILES)


def available(name: str) -> bool:
    """Whether a set can be loaded here; nothing is ever downloaded.

    >>> available("digits")
    True
    """
    require_choice(name, "name", "available", SETS)
    if name == "digits":
        return True
    if name == "mnist":
        return digits.default_source() == "mnist"
    return _path(name) is not None


def load_images(
    name: str, *, train: bool, classes: int | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Images (n, channels, side, side) with pixels in [0, 1], and class indices (n,).

    Reading: Tiny ImageNet is averaged over 2 x 2 pixels to the 32 x 32 of the other colour sets. Images come
    in the order of the files, classes mixed or not: shuffle before drawing batches.

    Args:
        name: one of `SETS`.
        train: which part.
        classes: keep indices below this, all when None.
        dtype: of the images.
    """
    require_choice(name, "name", "load_images", SETS)
    if name in ("digits", "mnist"):
        raw, labels = digits._mnist(train) if name == "mnist" else digits._embedded(train)
        images = raw[:, None]
    else:
        images, labels = _stored(name, train)
    if classes is not None:
        chosen = labels < classes
        images, labels = images[chosen], labels[chosen]
    # In plain memory order: convolutions on channels-last strides can crash on the CPU.
    x = torch.from_numpy(np.array(images, order="C")).to(dtype) / 255
    if name == "tiny_imagenet":
        x = torch.nn.functional.avg_pool2d(x, 2)
    return x, torch.from_numpy(np.array(labels, dtype=np.int64))


def _path(name: str) -> Path | None:
    root = os.environ.get("KARAT_DATA")
    path = Path(root) / FILES[name] if root else None
    return path if path is not None and path.is_file() else None


@lru_cache(maxsize=4)
def _stored(name: str, train: bool) -> tuple[np.ndarray, np.ndarray]:
    path = _path(name)
    if path is None:
        raise FileNotFoundError(
            f"the images `{name}` are not here: set KARAT_DATA to a folder that holds {FILES[name]}."
        )
    part = "train" if train else "test"
    tensors = NpzTensors(path)
    missing = [key for key in (f"x_{part}", f"y_{part}") if key not in tensors]
    if missing:
        raise FileError(f"`{path}` must hold `{missing[0]}`; it holds {', '.join(tensors) or 'nothing'}.")
    x, y = tensors[f"x_{part}"], tensors[f"y_{part}"]
    if x.dtype != torch.uint8 or x.dim() != 4 or x.shape[3] != 3 or x.shape[1] != x.shape[2]:
        raise FileError(f"`x_{part}` of `{path}` must hold bytes (n, side, side, 3), got {tuple(x.shape)}.")
    if (
        y.shape != x.shape[:1]
        or len(y) == 0
        or y.is_floating_point()
        or y.is_complex()
        or bool((y < 0).any())
    ):
        raise FileError(f"`y_{part}` of `{path}` must hold a class index for each of {len(x)} images.")
    return x.numpy().transpose(0, 3, 1, 2), y.numpy()
