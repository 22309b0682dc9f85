"""Convolutional networks of the image experiments, drawn from an explicit generator."""

import math

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer


class Block(nn.Module):
    """A basic residual block: two 3 x 3 convolutions with batch norm, and a shortcut.

    Args:
        channels: of the input.
        width: filters of both convolutions.
        stride: of the first one.
    """

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        """relu(norm(conv(relu(norm(conv(x))))) + shortcut(x))."""
        inner = self.norm2(self.second(torch.relu(self.norm1(self.first(x)))))
        return torch.relu(inner + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-18 for small images with m, 2m, 4m, 8m filters in its four stages; the usual one has m = 64.

    Args:
        m: filters of the first stage.
        classes: logits.
        generator: draws the weights.
        channels: of the images.

    Ref: features, Sec E.4.1
    """

    def __init__(self, m: int, classes: int, *, generator: torch.Generator, channels: int = 3) -> None:
        super().__init__()
        require_integer(m, "m", "ResNet", minimum=1)
        require_integer(classes, "classes", "ResNet", minimum=2)
        self.stem = nn.Conv2d(channels, m, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(m)
        stages, width = [], m
        for stage in range(4):
            wide = m * 2**stage
            stages.append(nn.Sequential(Block(width, wide, 1 if stage == 0 else 2), Block(wide, wide, 1)))
            width = wide
        self.stages = nn.ModuleList(stages)
        self.head = nn.Linear(width, classes)
        redraw(self, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes)."""
        x = torch.relu(self.norm(self.stem(x)))
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean(dim=(2, 3)))

    def filters(self, stage: int) -> Tensor:
        """(filters, fan in) weights of the last convolution of a stage, 0 to 3."""
        block = self.stages[stage][-1]  # type: ignore[index]
        return block.second.weight.flatten(1)


class QuadraticNets(nn.Module):
    r"""Several networks FC(m) with one hidden layer of squares, side by side on the same input.

    .. math:: \text{logits}_s = V_s (W_s x + b_s)^2 + c_s

    Training the sum of their losses with a per-coordinate optimiser trains each as if it were alone.

    Args:
        sizes: hidden units of each network.
        d: inputs.
        classes: outputs.
        generator: draws the weights.

    Ref: features, Sec E.5
    """

    def __init__(self, sizes: tuple[int, ...], d: int, classes: int, *, generator: torch.Generator) -> None:
        super().__init__()
        for size in sizes:
            require_integer(size, "sizes", "QuadraticNets", minimum=1)
        self.sizes, self.classes = sizes, classes
        self.hidden = nn.Linear(d, sum(sizes))
        self.tops = nn.ModuleList(nn.Linear(size, classes) for size in sizes)
        redraw(self, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (networks, n, classes)."""
        parts = self.hidden(x).square().split(self.sizes, dim=1)
        return torch.stack([top(part) for top, part in zip(self.tops, parts, strict=True)])


@torch.no_grad()
def redraw(module: nn.Module, *, generator: torch.Generator) -> None:
    """Draw all weights again as PyTorch does, uniform on +-1/sqrt(fan in), from an explicit generator.

    Weights on the device "meta", which have a shape and no numbers, are left alone.
    """
    for part in module.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            bound = 1 / math.sqrt(part.weight[0].numel())
            for tensor in (part.weight, part.bias):
                if tensor is not None and not tensor.is_meta:
                    tensor.copy_((2 * torch.rand(tensor.shape, generator=generator) - 1) * bound)
