"""Residual networks of basic blocks, with batch norm after the convolutions or in front of them."""

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer
from karat.nets.convnets import Block, redraw
from karat.nets.image_net import normalise


class PreActivationBlock(nn.Module):
    """x + conv(relu(norm(conv(relu(norm(x)))))): norm and ReLU in front of each 3 x 3 convolution.

    Args:
        channels: of the input.
        width: filters of both convolutions.
        stride: of the first one.
    """

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.first = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.shortcut: nn.Module | None = None
        if stride != 1 or channels != width:
            self.shortcut = nn.Conv2d(channels, width, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output; a projecting shortcut starts behind the first ReLU."""
        inner = torch.relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(inner)
        return shortcut + self.second(torch.relu(self.norm2(self.first(inner))))


class ResidualNet(nn.Module):
    """A 3 x 3 stem, stages of basic blocks that halve the resolution from one to the next, a linear head.

    Args:
        width: filters of the stem.
        widths: filters of each stage.
        blocks: of each stage.
        classes: logits.
        generator: draws the weights.
        preactivation: norm and ReLU in front of the convolutions, and once more before the head.
        channels: of the images.

    Reading: as in `AlexNet`, pixels in [0, 1] are normalised inside.

    Ref: purification, Sec 8
    """

    def __init__(
        self,
        *,
        width: int,
        widths: tuple[int, ...],
        blocks: tuple[int, ...],
        classes: int,
        generator: torch.Generator,
        preactivation: bool = True,
        channels: int = 3,
    ) -> None:
        super().__init__()
        for name, values in (("width", (width,)), ("widths", widths), ("blocks", blocks)):
            for value in values:
                require_integer(value, name, "ResidualNet", minimum=1)
        require_integer(classes, "classes", "ResidualNet", minimum=2)
        if len(widths) != len(blocks) or not widths:
            raise ValueError(
                f"`widths` and `blocks` of `ResidualNet` must name the same stages, got {widths}, {blocks}."
            )
        kind = PreActivationBlock if preactivation else Block
        self.stem = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.stem_norm: nn.Module = nn.Identity() if preactivation else nn.BatchNorm2d(width)
        stages, before = [], width
        for index, (wide, count) in enumerate(zip(widths, blocks, strict=True)):
            first = kind(before, wide, 1 if index == 0 else 2)
            stages.append(nn.Sequential(first, *(kind(wide, wide, 1) for _ in range(count - 1))))
            before = wide
        self.stages = nn.ModuleList(stages)
        self.head_norm: nn.Module = nn.BatchNorm2d(before) if preactivation else nn.Identity()
        self.head = nn.Linear(before, classes)
        redraw(self, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images with pixels in [0, 1]."""
        x = self.stem(normalise(x))
        if not isinstance(self.stem_norm, nn.Identity):
            x = torch.relu(self.stem_norm(x))
        for stage in self.stages:
            x = stage(x)
        return self.head(torch.relu(self.head_norm(x)).mean(dim=(2, 3)))


def resnet(m: int, classes: int, *, generator: torch.Generator, channels: int = 3) -> ResidualNet:
    """Pre-activation ResNet-18 with m, 2m, 4m, 8m filters.

    Args:
        m: filters of the first stage.
        classes: logits.
        generator: draws the weights.
        channels: of the images.
    """
    return _four_stages(m, (2, 2, 2, 2), classes, generator, channels, preactivation=True)


def resnet34(
    classes: int,
    *,
    generator: torch.Generator,
    channels: int = 3,
    m: int = 64,
    preactivation: bool = False,
) -> ResidualNet:
    """ResNet-34 with 3, 4, 6, 3 basic blocks of 64 to 512 filters.

    Args:
        classes: logits.
        generator: draws the weights.
        channels: of the images.
        m: filters of the first stage.
        preactivation: norm and ReLU in front of the convolutions.
    """
    return _four_stages(m, (3, 4, 6, 3), classes, generator, channels, preactivation)


def wide_resnet(
    depth: int, k: int, classes: int, *, generator: torch.Generator, channels: int = 3
) -> ResidualNet:
    """WRN-depth-k: three pre-activation stages of (depth - 4) / 6 blocks with 16k, 32k, 64k filters.

    Args:
        depth: as wide residual networks count it, 4 more than a multiple of 6.
        k: widening factor.
        classes: logits.
        generator: draws the weights.
        channels: of the images.

    Reading: the paper's pre-activation ResNet-34 has 31 convolutions and cites wide residual networks, which
        is depth 34 in this count (1 + 3 * 5 * 2 = 31), not the 33 of the four-stage net; its k is not
        printed. ResNet-16 is depth 16 here.

    Ref: purification, Sec 8.2
    """
    require_integer(depth, "depth", "wide_resnet", minimum=10)
    require_integer(k, "k", "wide_resnet", minimum=1)
    if (depth - 4) % 6:
        raise ValueError(f"`depth` of `wide_resnet` must be 6 n + 4 (10, 16, 22, 28, 34, ...), got {depth}.")
    return ResidualNet(
        width=16,
        widths=(16 * k, 32 * k, 64 * k),
        blocks=((depth - 4) // 6,) * 3,
        classes=classes,
        generator=generator,
        channels=channels,
    )


def _four_stages(
    m: int,
    blocks: tuple[int, ...],
    classes: int,
    generator: torch.Generator,
    channels: int,
    preactivation: bool,
) -> ResidualNet:
    require_integer(m, "m", "ResidualNet", minimum=1)
    return ResidualNet(
        width=m,
        widths=(m, 2 * m, 4 * m, 8 * m),
        blocks=blocks,
        classes=classes,
        generator=generator,
        preactivation=preactivation,
        channels=channels,
    )
