"""The layer that reads the input, and its features as atoms in input space."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.nets.unaltered import alteration
from karat.nets.weight_layers import layer_calls
from karat.probes.reconstruction import blurred, blurred_noise, filter_atoms
from karat.yours.probe.comparison import Comparison, ProbedNet

BLURRED = "before, blurred 3x3"


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """A first layer whose features live in input space.

    Args:
        name: of the layer.
        stride: of a convolution, 0 for a dense layer.
        padding: of a convolution, 0 for a dense layer.
        shape: of one input as the layer sees it.
    """

    name: str
    stride: int
    padding: int
    shape: tuple[int, ...]

    def filters(self, net: ProbedNet) -> Tensor:
        """(m, C, h, w) filters of a convolution, (m, C, H, W) or (m, d) rows of a dense layer."""
        layer: Any = dict(net.module.named_modules())[self.name]
        weight: Tensor = layer.weight.detach()
        return weight.reshape(len(weight), *self.shape) if weight.dim() == 2 else weight

    @property
    def dense(self) -> bool:
        """Whether every feature sees the whole input."""
        return self.stride == 0


def find_first_layer(comparison: Comparison) -> FirstLayer | None:
    """The layer called first if it is dense or a plain convolution on the whole input, else None.

    Reading: rows are features of the input only if the layer does nothing but multiply by them, so a subclass
        and a layer with hooks count as unknown.
    """
    called = layer_calls(comparison.before.module, comparison.x)
    if not called:
        return None
    name, given = called[0]
    part = dict(comparison.before.module.named_modules()).get(name)
    if part is None or alteration(part):
        return None
    if type(part) is nn.Linear and given.shape == (1, comparison.x[0].numel()):
        return FirstLayer(name, 0, 0, comparison.image or (given.shape[1],))
    if type(part) is nn.Conv2d and given.shape == comparison.x[:1].shape and _plain(part):
        assert isinstance(part.padding, tuple)
        return FirstLayer(name, part.stride[0], part.padding[0], tuple(given.shape[1:]))
    return None


def atoms_of(layer: FirstLayer, filters: Tensor, most: int) -> Tensor:
    """(D, d) unit atoms: rows of a dense layer, or filters at places so far apart that D <= `most`.

    Args:
        layer: whose features they are.
        filters: (m, ...) of that layer in some net.
        most: the largest number of atoms.
    """
    if layer.dense:
        rows = filters.flatten(1)[:most]
        return torch.nn.functional.normalize(rows, dim=1)
    filters = filters[:most]
    stride = layer.stride
    while len(filters) * math.prod(_places(layer, filters, stride)) > most and stride < layer.shape[-1]:
        stride += 1
    return filter_atoms(filters, layer.shape, stride=stride, padding=layer.padding)


def dictionaries(
    comparison: Comparison, layer: FirstLayer, most: int, *, generator: torch.Generator
) -> dict[str, Tensor]:
    """Atoms of every net's first layer, and two controls without training: blurred filters, blurred noise.

    Args:
        comparison: the nets and the inputs.
        layer: the first layer.
        most: the largest number of atoms in a dictionary.
        generator: of the noise.
    """
    atoms = {net.name: atoms_of(layer, layer.filters(net), most) for net in comparison.nets}
    filters = layer.filters(comparison.before)
    if filters.dim() == 4 and min(filters.shape[2:]) >= 3:
        atoms[BLURRED] = atoms_of(layer, blurred(filters, 3), most)
        atoms["blurred noise"] = atoms_of(layer, blurred_noise(filters, 5, generator=generator), most)
    else:
        noise = torch.randn(filters.shape, generator=generator).to(filters)
        atoms["noise"] = atoms_of(layer, noise, most)
    return atoms


def _plain(part: nn.Conv2d) -> bool:
    square = len({*part.stride}) == 1 and isinstance(part.padding, tuple) and len({*part.padding}) == 1
    return part.groups == 1 and set(part.dilation) == {1} and square


def _places(layer: FirstLayer, filters: Tensor, stride: int) -> tuple[int, int]:
    sizes = [
        (side + 2 * layer.padding - kernel) // stride + 1
        for side, kernel in zip(layer.shape[1:], filters.shape[2:], strict=True)
    ]
    return sizes[0], sizes[1]
