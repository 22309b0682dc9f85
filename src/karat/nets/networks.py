"""Image networks by name: "alexnet:0.25", "resnet:8", "wrn:28:10"."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import nn

from karat.nets.alexnet import AlexNet
from karat.nets.image_net import conv_layers
from karat.nets.residual import resnet, resnet34, wide_resnet

Build = Callable[..., nn.Module]


@dataclass(frozen=True)
class Network:
    """A family of networks.

    Args:
        title: what it is.
        sizes: names of the numbers that follow its own name.
        build: makes one from these numbers and the number of classes.
    """

    title: str
    sizes: tuple[str, ...]
    build: Build


NETWORKS: dict[str, Network] = {
    "alexnet": Network(
        "AlexNet for 32 x 32 images, width 1 being the paper's",
        ("width",),
        lambda sizes, classes, **more: AlexNet(float(sizes[0]), classes, **more),
    ),
    "resnet": Network(
        "pre-activation ResNet-18 with m filters in its first stage",
        ("m",),
        lambda sizes, classes, **more: resnet(int(sizes[0]), classes, **more),
    ),
    "resnet16": Network(
        "ResNet-16: three stages of two basic blocks",
        (),
        lambda sizes, classes, **more: wide_resnet(16, 1, classes, **more),
    ),
    "resnet34": Network(
        "ResNet-34 with basic blocks, norms behind the convolutions",
        (),
        lambda sizes, classes, **more: resnet34(classes, **more),
    ),
    "preact34": Network(
        "pre-activation ResNet-34 with four stages",
        (),
        lambda sizes, classes, **more: resnet34(classes, preactivation=True, **more),
    ),
    "wrn": Network(
        "wide residual network of a depth and a widening factor; wrn:34:1 has the paper's 31 convolutions",
        ("depth", "k"),
        lambda sizes, classes, **more: wide_resnet(int(sizes[0]), int(sizes[1]), classes, **more),
    ),
}


def build_network(name: str, classes: int, *, generator: torch.Generator, channels: int = 3) -> nn.Module:
    """The network of a name with its sizes after colons, weights drawn from the generator.

    Args:
        name: such as "wrn:28:10".
        classes: number of logits.
        generator: draws the weights.
        channels: of the images.

    >>> net = build_network("alexnet:0.25", 10, generator=torch.Generator().manual_seed(0))
    >>> net.conv1.weight.shape
    torch.Size([16, 3, 11, 11])
    >>> build_network("vgg", 10, generator=torch.Generator())
    Traceback (most recent call last):
    ...
    ValueError: `name` of `build_network` must be one of alexnet:width, resnet:m, resnet16, resnet34, \
preact34, wrn:depth:k; got 'vgg'.
    """
    kind, *sizes = name.split(":")
    network = NETWORKS.get(kind)
    try:
        if network is None or len(sizes) != len(network.sizes):
            raise ValueError
        numbers = [float(size) for size in sizes]
        if kind != "alexnet" and any(number != int(number) for number in numbers):
            raise ValueError
    except ValueError:
        forms = ", ".join(":".join([key, *entry.sizes]) for key, entry in NETWORKS.items())
        raise ValueError(f"`name` of `build_network` must be one of {forms}; got {name!r}.") from None
    return network.build(numbers, classes, generator=generator, channels=channels)


class NetworkSize(NamedTuple):
    """How large a network is.

    Args:
        weights: all parameters, those of norms included.
        convolutions: larger than 1 x 1.
    """

    weights: int
    convolutions: int


@cache
def network_size(name: str, classes: int, channels: int = 3) -> NetworkSize:
    """Return the size of a network without drawing it.

    Args:
        name: such as "wrn:28:10".
        classes: number of logits.
        channels: of the images.

    >>> network_size("wrn:28:10", 10)
    NetworkSize(weights=36479194, convolutions=25)
    """
    with torch.device("meta"):
        net = build_network(name, classes, generator=torch.Generator("cpu"), channels=channels)
    return NetworkSize(sum(part.numel() for part in net.parameters()), len(conv_layers(net)))
