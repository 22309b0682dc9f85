"""Random crops and flips of image batches, drawn from an explicit generator."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.ranges import Steps, checked


@dataclass(frozen=True, kw_only=True)
@checked
class Augmentation:
    """Each image is shifted by up to `shift` pixels either way, zeros coming in, and mirrored half the time.

    Reading: with the defaults this is the usual crop of size 32 after padding by 4, and the horizontal flip.

    Args:
        shift: largest shift in pixels, 0 for none.
        flip: whether images are mirrored left to right; digits must not be.

    Ref: purification, Sec 8
    """

    shift: Steps = 4
    flip: bool = True

    def __call__(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """A new batch (n, channels, height, width) of the same shape."""
        n = len(x)
        if self.flip:
            mirrored = (torch.rand(n, generator=generator) < 0.5).to(x.device)
            x = torch.where(mirrored[:, None, None, None], x.flip(3), x)
        if self.shift == 0:
            return x
        height, width = x.shape[2:]
        padded = torch.nn.functional.pad(x, (self.shift,) * 4)
        corners = torch.randint(2 * self.shift + 1, (n, 2), generator=generator).tolist()
        # Copies of slices, one per image, take half the time of a gather.
        out = torch.empty_like(x)
        for target, image, (top, left) in zip(out, padded, corners, strict=True):
            target.copy_(image[:, top : top + height, left : left + width])
        return out


AUGMENTATIONS: dict[str, Augmentation | None] = {
    "none": None,
    "crop": Augmentation(flip=False),
    "crop+flip": Augmentation(),
}
"""By name; "crop" is for images that must not be mirrored."""
