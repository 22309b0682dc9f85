"""Digits as lazy uses them: two classes, any resolution, unit length or raw, zero-padded as a control."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.core.checks import require_integer
from karat.core.norms import norm
from karat.data.digits import SIDE, Source, load_digits, resize
from karat.data.samples import Samples


@dataclass(frozen=True, kw_only=True)
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

    side: int
    source: Source
    padded_from: int | None = None
    scaling: Literal["unit", "raw"] = "unit"
    classes: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        require_integer(self.side, "side", "Config", minimum=1)
        if self.padded_from is not None:
            require_integer(self.padded_from, "padded_from", "Config", minimum=1)
            if self.padded_from > min(self.side, SIDE):
                raise ValueError(
                    f"`padded_from` of `Config` must be at most {min(self.side, SIDE)}, "
                    f"got {self.padded_from}."
                )
        if len(set(self.classes)) < 2 or not set(self.classes) <= set(range(10)):
            raise ValueError(f"`classes` of `Config` must be two different digits, got {self.classes}.")

    @property
    def d(self) -> int:
        """Input dimension of the network."""
        return self.side**2

    def load(self, *, train: bool, dtype: torch.dtype) -> Samples:
        """All images of one part."""
        samples = load_digits(self.source, train=train, classes=self.classes, dtype=dtype)
        x = resize(samples.x, self.padded_from or self.side)
        if self.scaling == "unit":
            x = x / norm(x, 2).unsqueeze(1)
        return Samples.clean(
            x if self.padded_from is None else _pad(x, self.padded_from, self.side), samples.y
        )

    def draw(self, n: int, *, train: bool, generator: torch.Generator, dtype: torch.dtype) -> Samples:
        """n random images of one part; both classes must be among them."""
        pool = self.load(train=train, dtype=dtype)
        part = "training" if train else "test"
        if n > len(pool):
            raise ValueError(
                f"{n} {part} images were asked for, but the {self.source} digits {self.classes} have "
                f"{len(pool)}."
            )
        chosen = pool.take(torch.randperm(len(pool), generator=generator)[:n])
        for label, digit in zip((-1, 1), self.classes, strict=True):
            if not bool((chosen.y == label).any()):
                raise ValueError(f"the digit class {digit} is empty among the {n} {part} images drawn.")
        return chosen


def _pad(x: Tensor, inner: int, side: int) -> Tensor:
    before = (side - inner) // 2
    padded = x.new_zeros(len(x), side, side)
    padded[:, before : before + inner, before : before + inner] = x.reshape(-1, inner, inner)
    return padded.flatten(1)
