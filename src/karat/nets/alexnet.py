"""AlexNet for 32 x 32 images: five convolutions, the first with 11 x 11 filters one can look at."""

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer, require_number
from karat.nets.convnets import redraw
from karat.nets.image_net import normalise

WIDTHS = (64, 192, 384, 256, 256)
"""Filters of the five layers at width 1."""


class AlexNet(nn.Module):
    """Convolutions 11 x 11 (stride 4), 5 x 5 and three 3 x 3, max pools after 1, 2 and 5, a linear head.

    Reading: the paper's own net is width 1, without batch norm. Pixels in [0, 1] are normalised inside, so
        that attacks live in pixel units. The head sees the mean over the positions that are left: one for
        32 x 32 images.

    Args:
        width: all layers have width * (64, 192, 384, 256, 256) filters.
        classes: logits.
        generator: draws the weights.
        channels: of the images.

    Ref: purification, Fig 1
    """

    def __init__(self, width: float, classes: int, *, generator: torch.Generator, channels: int = 3) -> None:
        super().__init__()
        require_number(width, "width", "AlexNet", positive=True)
        require_integer(classes, "classes", "AlexNet", minimum=2)
        require_integer(channels, "channels", "AlexNet", minimum=1)
        one, two, three, four, five = (max(1, round(width * full)) for full in WIDTHS)
        self.conv1 = nn.Conv2d(channels, one, 11, 4, 5)
        self.conv2 = nn.Conv2d(one, two, 5, 1, 2)
        self.conv3 = nn.Conv2d(two, three, 3, 1, 1)
        self.conv4 = nn.Conv2d(three, four, 3, 1, 1)
        self.conv5 = nn.Conv2d(four, five, 3, 1, 1)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(five, classes)
        redraw(self, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, channels, 32, 32) with pixels in [0, 1]."""
        x = self.pool(torch.relu(self.conv1(normalise(x))))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.conv4(torch.relu(self.conv3(x))))
        x = self.pool(torch.relu(self.conv5(x)))
        return self.head(x.mean(dim=(2, 3)))
