"""What the first layer of a net spans before any training."""

from dataclasses import dataclass

import torch

from karat.core.ranges import Count, settings
from karat.nets.networks import build_network
from karat.papers.purification.experiments.image_setting import SIDE
from karat.papers.purification.experiments.trained_pair import first_filters
from karat.probes.reconstruction import filter_atoms
from karat.probes.span import worst_span_error
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class UntrainedSpanConfig:
    """Settings of one run.

    Args:
        network: a name of `NETWORKS` with its sizes.
        filters: how many of the first layer's filters are used, the first ones; more can only span more.
        channels: of the images.
    """

    network: str
    filters: Count
    channels: Count = 3

    @property
    def pixels(self) -> int:
        """Values of an image."""
        return self.channels * SIDE**2


@dataclass(frozen=True, kw_only=True)
class UntrainedSpanResult:
    """What the filters leave of an image.

    Args:
        worst: relative squared error of the image that they fit worst, whatever it is.
        atoms: filters times places.
        used: filters that there were.
    """

    worst: float
    atoms: int
    used: int


def run(config: UntrainedSpanConfig, generator: torch.Generator) -> UntrainedSpanResult:
    """Draw a net and place the filters of its first layer everywhere, as its own convolution does."""
    net = build_network(config.network, 10, generator=generator, channels=config.channels)
    filters = first_filters(net)[: config.filters]
    layer = next(part for part in net.modules() if isinstance(part, torch.nn.Conv2d))
    shape = (config.channels, SIDE, SIDE)
    atoms = filter_atoms(filters, shape, stride=layer.stride[0], padding=int(layer.padding[0]))
    return UntrainedSpanResult(worst=worst_span_error(atoms), atoms=len(atoms), used=len(filters))


_NETS = (("alexnet:1", 32), ("alexnet:1", 64), ("wrn:34:1", 2), ("wrn:34:1", 4))
_POINTS = tuple({"network": network, "filters": filters} for network, filters in _NETS)
_BASE = UntrainedSpanConfig(network="wrn:34:1", filters=4)

UNTRAINED_SPAN = Experiment(
    name="purification.untrained_span",
    title="Which images are combinations of a net's first filters before any training?",
    paper="purification",
    part="images",
    presets={
        "tiny": Preset(
            config=UntrainedSpanConfig(network="wrn:34:1", filters=4, channels=1),
            points=({"filters": 1}, {"filters": 3}),
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(config=_BASE, points=_POINTS, seeds=3, cell_seconds=4),
        "full": Preset(
            config=_BASE, points=(*_POINTS, {"network": "wrn:34:1", "filters": 16}), seeds=10, cell_seconds=8
        ),
    },
    run=run,
)
