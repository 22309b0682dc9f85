"""The weight tables of any torch module: one row per neuron or filter, layer by layer."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.nets.hooks import watching

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


@dataclass(frozen=True, eq=False)
class WeightLayer:
    """The weights of one layer.

    Args:
        name: in `module.named_modules()`.
        kind: conv, pointwise (1 x 1), linear, attention or matrix.
        weight: (m, ...) detached, one entry per neuron or filter.
    """

    name: str
    kind: str
    weight: Tensor

    @property
    def rows(self) -> Tensor:
        """(m, fan in)."""
        return self.weight.flatten(1)


def weight_layers(module: nn.Module) -> list[WeightLayer]:
    """Convolutions, dense layers and attention projections in the order in which they are registered.

    Reading: rows of a table are what one output unit reads, so transposed convolutions are turned round. A
        module without such layers is taken at its own matrices (karat's nets: W). Embeddings, norms and
        biases are no features of the input and are left out.

    >>> net = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    >>> [(layer.name, layer.kind, tuple(layer.rows.shape)) for layer in weight_layers(net)]
    [('0', 'conv', (8, 75)), ('3', 'linear', (2, 8))]
    """
    layers = []
    for name, part in module.named_modules():
        if isinstance(part, _TRANSPOSED):
            layers.append(WeightLayer(name, "conv", part.weight.detach().transpose(0, 1)))
        elif isinstance(part, _CONVOLUTIONS):
            kind = "conv" if max(part.kernel_size) > 1 else "pointwise"
            layers.append(WeightLayer(name, kind, part.weight.detach()))
        elif isinstance(part, nn.Linear):
            layers.append(WeightLayer(name, "linear", part.weight.detach()))
        elif isinstance(part, nn.MultiheadAttention) and part.in_proj_weight is not None:
            layers.append(WeightLayer(f"{name}.in_proj", "attention", part.in_proj_weight.detach()))
    if not layers:
        parameters = module.named_parameters()
        layers = [WeightLayer(name, "matrix", p.detach()) for name, p in parameters if p.dim() == 2]
    return layers


def layer_calls(module: nn.Module, x: Tensor) -> list[tuple[str, Tensor]]:
    """Names of layers with weights in the order in which an input passes them, with what each is given."""
    layers = {layer.name.removesuffix(".in_proj"): layer.name for layer in weight_layers(module)}
    called: list[tuple[str, Tensor]] = []

    def note(name: str, inputs: tuple[Any, ...]) -> None:
        called.append((layers[name], inputs[0] if inputs else torch.empty(0)))

    with watching(module, layers, before=note), torch.no_grad():
        module(x[:1].clone())
    return called


def layers_in_order(module: nn.Module, x: Tensor) -> list[WeightLayer]:
    """The weight layers in the order of the forward pass; layers used without a call follow their parent."""
    first: dict[str, float] = {}
    for number, (name, _) in enumerate(layer_calls(module, x)):
        first.setdefault(name, float(number))

    def place(layer: WeightLayer) -> float:
        if layer.name in first:
            return first[layer.name]
        parent = layer.name.rpartition(".")[0]
        known = [spot for name, spot in first.items() if name in (parent, f"{parent}.in_proj")]
        return known[0] + 0.5 if known else float(len(first))

    return sorted(weight_layers(module), key=place)
