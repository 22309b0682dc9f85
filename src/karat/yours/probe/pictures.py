"""Pictures of a probe as arrays: filters, perturbations, and inputs that excite hidden features."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from karat.nets.weight_layers import WeightLayer, layer_calls, weight_layers
from karat.probes.pictures import InputAscent
from karat.probes.roughness import centred, low_frequency_share, roughness
from karat.yours.probe.comparison import Comparison
from karat.yours.probe.first_layer import FirstLayer
from karat.yours.probe.perturbations import Described
from karat.yours.probe.settings import ProbeSettings

MOST_FILTERS, MOST_SAMPLES = 24, 8


@dataclass(frozen=True, kw_only=True)
class PictureNumbers:
    """What the pictures of one layer say in numbers: roughness and share of slow waves, per net.

    Args:
        layer: its name.
        what: how the pictures were made.
        roughness: net -> mean over its pictures.
        slow: net -> mean share of slow waves.
    """

    layer: str
    what: str
    roughness: dict[str, float]
    slow: dict[str, float]


@dataclass(frozen=True, eq=False)
class Pictures:
    """Arrays (k, H, W, C) by net name, and the numbers that go with them.

    Args:
        filters: of the first layer, longest first.
        inputs: some samples.
        perturbations: of these samples.
        features: layer -> net -> inputs found by gradient ascent.
        numbers: one entry per drawn layer.
    """

    filters: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: np.ndarray | None = None
    perturbations: dict[str, np.ndarray] = field(default_factory=dict)
    features: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    numbers: tuple[PictureNumbers, ...] = ()


class _Unit(nn.Module):
    """The model on pictures with pixels in [0, 1], stretched to the range of its inputs."""

    def __init__(self, model: nn.Module, x: Tensor) -> None:
        super().__init__()
        self.model, self.like = model, x[:1]
        low, high = float(x.min()), float(x.max())
        self.low, self.width = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high - low)

    def forward(self, u: Tensor) -> object:
        """The model's answer."""
        shape = self.like.shape[1:]
        return self.model((self.low + self.width * u.to(self.like)).reshape(len(u), *shape))


def draw(
    comparison: Comparison,
    described: Described,
    layer: FirstLayer | None,
    settings: ProbeSettings,
    generator: torch.Generator,
) -> Pictures:
    """All pictures that the inputs and the nets allow; none for inputs that are no pictures.

    Args:
        comparison: the nets and the inputs.
        described: inputs and perturbations.
        layer: the first layer, if its filters can be drawn.
        settings: sample sizes.
        generator: of the pictures that gradient ascent starts from.
    """
    if comparison.image is None:
        return Pictures()
    filters, numbers = _filters(comparison, layer)
    x = described.x
    chosen = torch.linspace(0, len(x) - 1, min(MOST_SAMPLES, len(x))).long()
    features, more = _features(comparison, settings, generator) if settings.pictured else ({}, [])
    return Pictures(
        filters=filters,
        inputs=_array(comparison.images(x[chosen])),
        perturbations={
            name: _array(comparison.images(delta[chosen])) for name, delta in described.deltas.items()
        },
        features=features,
        numbers=(*numbers, *more),
    )


def _filters(
    comparison: Comparison, layer: FirstLayer | None
) -> tuple[dict[str, np.ndarray], list[PictureNumbers]]:
    if layer is None:
        return {}, []
    weight = layer.filters(comparison.before)
    if weight.dim() != 4 or weight.shape[1] not in (1, 3) or min(weight.shape[2:]) < 3:
        return {}, []
    order = weight.flatten(1).norm(dim=1).argsort(descending=True)
    filters = {net.name: layer.filters(net) for net in comparison.nets}
    arrays = {name: _array(w[order[:MOST_FILTERS]]) for name, w in filters.items()}
    return arrays, [_numbers(layer.name, "filters", filters)]


def _features(
    comparison: Comparison, settings: ProbeSettings, generator: torch.Generator
) -> tuple[dict[str, dict[str, np.ndarray]], list[PictureNumbers]]:
    assert comparison.image is not None
    arrays, numbers = {}, []
    ascent = InputAscent(steps=settings.ascent_steps)
    seed = int(torch.randint(0, 2**31, (1,), generator=generator))
    for layer in pictured_layers(comparison.before.module, comparison.x):
        length = layer.rows.norm(dim=1)
        channels = length.argsort(descending=True)[: settings.pictured].tolist()
        excited = {}
        for net in comparison.pair:
            same_start = torch.Generator().manual_seed(seed)  # both nets start from the same random picture
            model = _Unit(net.module, comparison.x)
            excited[net.name] = ascent.run(
                model, f"model.{layer.name}", channels, comparison.image, generator=same_start
            )
        arrays[layer.name] = {name: _array(pictures) for name, pictures in excited.items()}
        pictures = {**excited, "inputs": comparison.images(comparison.some(settings.samples)[0])}
        entry = _numbers(layer.name, "gradient ascent", {n: centred(p) for n, p in pictures.items()})
        numbers.append(entry)
    return arrays, numbers


def pictured_layers(module: nn.Module, x: Tensor) -> list[WeightLayer]:
    """A middle and the last hidden layer in the order of the forward pass, convolutions before others."""
    called = [name for name, _ in layer_calls(module, x)]
    known = {
        layer.name: layer for layer in weight_layers(module) if layer.kind in ("conv", "pointwise", "linear")
    }
    hidden = [known[name] for name in called[1:-1] if name in known]
    wide = [layer for layer in hidden if layer.kind == "conv"]
    hidden = wide or hidden
    chosen = {len(hidden) // 2, len(hidden) - 1} if hidden else set()
    return [hidden[index] for index in sorted(chosen)]


def _numbers(layer: str, what: str, pictures: dict[str, Tensor]) -> PictureNumbers:
    return PictureNumbers(
        layer=layer,
        what=what,
        roughness={name: float(roughness(p).mean()) for name, p in pictures.items()},
        slow={name: float(low_frequency_share(p).mean()) for name, p in pictures.items()},
    )


def _array(images: Tensor) -> np.ndarray:
    """(k, H, W, C) for drawing."""
    array: np.ndarray = images.detach().float().permute(0, 2, 3, 1).contiguous().numpy()
    return array
