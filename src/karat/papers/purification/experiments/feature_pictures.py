"""Feature pictures of chosen layers: how they are drawn, what is measured on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.core.ranges import Count, settings
from karat.papers.purification.experiments.image_setting import ImageSetting
from karat.probes.bases import frequency_coefficients
from karat.probes.density import participation_ratio
from karat.probes.pictures import InputAscent
from karat.probes.roughness import centred, low_frequency_share, roughness

Quantised = dict[str, Any]
"""Pictures as `quantise` stores them."""


@dataclass(frozen=True, kw_only=True)
@settings
class AscentSetting(ImageSetting):
    """Settings of a run that draws features by gradient ascent on the input.

    Args:
        ascent_steps: of the feature pictures.
        paper_ascent: take footnote 16's settings instead.
        background: the colour towards which feature pictures are drawn; footnote 16 has black for Figure 6.
    """

    ascent_steps: Count = 300
    paper_ascent: bool = False
    background: Literal["grey", "black"] = "grey"

    @property
    def ascent(self) -> InputAscent:
        """How feature pictures are drawn."""
        drawn = InputAscent.paper() if self.paper_ascent else InputAscent(steps=self.ascent_steps)
        return replace(drawn, grey=0.0) if self.background == "black" else drawn


@dataclass(frozen=True, kw_only=True)
class FeatureMeasures:
    """Feature pictures of one layer, one value per channel.

    Args:
        roughness: of the pictures.
        low: their low-frequency shares.
        waves: their effective numbers of waves.
        channels: which ones.
    """

    roughness: list[float]
    low: list[float]
    waves: list[float]
    channels: list[int]


def feature_pictures(
    nets: Mapping[str, nn.Module],
    layers: Sequence[str],
    count: int,
    shape: tuple[int, ...],
    ascent: InputAscent,
    seed: int,
) -> tuple[dict[str, FeatureMeasures], dict[str, Tensor]]:
    """Draw the same channels of the same layers in every net, from the same first image.

    Args:
        nets: by name; the first one chooses the channels.
        layers: names of convolutions.
        count: channels of each layer.
        shape: (channels, height, width) of an image.
        ascent: how features are drawn.
        seed: of the first image.

    Returns:
        "net|layer" -> measures, and "net|layer" -> (count, channels, height, width) pictures.
    """
    measures, pictures = {}, {}
    for layer in layers:
        channels = strongest_channels(next(iter(nets.values())), layer, count)
        for name, net in nets.items():
            generator = torch.Generator().manual_seed(seed)
            drawn = ascent.run(net, layer, channels, shape, generator=generator)
            flat = centred(drawn)
            measures[f"{name}|{layer}"] = FeatureMeasures(
                roughness=five_digits(roughness(flat)),
                low=five_digits(low_frequency_share(flat)),
                waves=five_digits(participation_ratio(frequency_coefficients(flat))),
                channels=channels,
            )
            pictures[f"{name}|{layer}"] = drawn
    return measures, pictures


def strongest_channels(net: nn.Module, layer: str, count: int) -> list[int]:
    """Return the channels of a convolution whose filters are longest: a choice that looks at no picture.

    Args:
        net: of the convolution.
        layer: its name.
        count: channels, in the order of the layer.
    """
    weight = dict(net.named_modules())[layer].weight
    assert isinstance(weight, Tensor)
    order = weight.detach().flatten(1).norm(dim=1).argsort(descending=True)
    return sorted(order[:count].tolist())


def five_digits(values: Tensor) -> list[float]:
    """Return values with five digits, for a record of modest size."""
    return [float(f"{value:.5g}") for value in values.double().tolist()]
