"""Digits as lazy uses them: two classes, any resolution, unit length or raw, zero-padded as a control."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.core.norms import norm
from karat.core.ranges import Count, checked
from karat.data.digits import CLASSES, SIDE, Source, load_digits, resize
from karat.data.samples import Samples

Scaling = Literal["unit", "raw"]


@dataclass(frozen=True, kw_only=True)
@checked
class Digits:
    """Which digits a cell sees.

    Args:
        side: the network sees side^2 inputs.
        source: embedded digits or full MNIST.
        padded_from: average to this side first, then pad with zeros to `side`: the same data in a larger
            network (None: average to `side` directly).
        scaling: "unit" brings every image to length 1, "raw" keeps pixels in [0, 1].
        classes: the two digits; the second has label +1.
    """

    side: Count
    source: Source
    padded_from: Count | None = None
    scaling: Scaling = "unit"
    classes: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        largest = min(self.side, SIDE)
        if self.padded_from is not None and self.padded_from > largest:
            raise ValueError(f"`padded_from` of `Digits` must be at most {largest}, got {self.padded_from}.")
        if len(set(self.classes)) < 2 or not set(self.classes) <= set(range(CLASSES)):
            raise ValueError(f"`classes` of `Digits` must be two different digits, got {self.classes}.")

    @property
    def d(self) -> int:
        """Input dimension of the network."""
        return self.side**2

    def load(self, *, train: bool, dtype: torch.dtype) -> Samples:
        """Return all images of the training or the test set.

        Args:
            train: which of the two.
            dtype: of the images and labels.
        """
        samples = load_digits(self.source, train=train, classes=self.classes, dtype=dtype)
        x = resize(samples.x, self.padded_from or self.side)
        # Before padding or after makes no difference: zeros add nothing to the length.
        if self.scaling == "unit":
            x = x / norm(x, 2).unsqueeze(1)
        if self.padded_from is not None:
            x = _pad(x, self.padded_from, self.side)
        return Samples.clean(x, samples.y)

    def draw(self, n: int, *, train: bool, generator: torch.Generator, dtype: torch.dtype) -> Samples:
        """Return n random images of the training or the test set; both classes must be among them.

        Args:
            n: how many, drawn without replacement.
            train: which of the two sets.
            generator: of the draw.
            dtype: of the images and labels.
        """
        pool = self.load(train=train, dtype=dtype)
        images = "training images" if train else "test images"
        if n > len(pool):
            raise ValueError(
                f"{n} {images} were asked for, but the {self.source} digits {self.classes} have {len(pool)}."
            )
        drawn = pool.take(torch.randperm(len(pool), generator=generator)[:n])
        for label, digit in zip((-1, 1), self.classes, strict=True):
            if not bool((drawn.y == label).any()):
                raise ValueError(f"the digit class {digit} is empty among the {n} {images} drawn.")
        return drawn


def _pad(x: Tensor, inner: int, side: int) -> Tensor:
    """Put images of a smaller side in the middle of larger ones."""
    before = (side - inner) // 2
    padded = x.new_zeros(len(x), side, side)
    padded[:, before : before + inner, before : before + inner] = x.reshape(-1, inner, inner)
    return padded.flatten(1)
