"""The nets and inputs of a probe, checked once and brought into one form."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.checks import ShapeError
from karat.data.loading import evenly, load_samples
from karat.data.samples import Samples
from karat.errors import reason
from karat.nets.loading import require_finite
from karat.nets.modes import still
from karat.nets.module import ModuleClassifier, to_module
from karat.nets.net import Net
from karat.nets.outputs import OneOutput, count_outputs, first_tensor, fit_labels
from karat.nets.weight_layers import weight_layers

NAMES = ("start", "before", "after")


@dataclass(frozen=True, eq=False)
class ProbedNet:
    """One net under the probe.

    Args:
        name: start, before or after.
        module: the user's own, in eval mode while it is probed.
        scores: the same seen through its first output tensor.
        classifier: its margins.
    """

    name: str
    module: nn.Module
    scores: OneOutput
    classifier: ModuleClassifier


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything a measurement needs.

    Args:
        before: the net before.
        after: the net after.
        start: the net at the start of training, if known.
        x: (n, ...) all inputs that were given.
        y: (n,) their labels.
        outputs: 1 for a score, else the number of logits.
        image: (C, H, W) if inputs are pictures.
    """

    before: ProbedNet
    after: ProbedNet
    start: ProbedNet | None
    x: Tensor
    y: Tensor
    outputs: int
    image: tuple[int, int, int] | None

    @property
    def pair(self) -> tuple[ProbedNet, ProbedNet]:
        """Before and after."""
        return self.before, self.after

    @property
    def nets(self) -> tuple[ProbedNet, ...]:
        """All nets, the start first where it is known."""
        return self.pair if self.start is None else (self.start, *self.pair)

    def some(self, count: int) -> tuple[Tensor, Tensor]:
        """At most `count` inputs with labels, evenly spaced."""
        return evenly(self.x, self.y, count)

    def images(self, x: Tensor) -> Tensor:
        """Inputs as pictures (n, C, H, W) where they are pictures, as they are else."""
        return x if self.image is None else x.reshape(len(x), *self.image)


@contextmanager
def compared(
    before: Any, after: Any, data: Any, start: Any | None, image: tuple[int, int, int] | None
) -> Iterator[Comparison]:
    """Check nets and data; eval mode and no parameter gradients until the end, then both as they were.

    Args:
        before: the net before.
        after: the net after.
        data: (x, y), Samples, a file or the name of a set.
        start: the net at the start of training, None if unknown.
        image: (C, H, W) of pictures given as vectors.
    """
    modules = {
        name: _module(model, name)
        for name, model in zip(NAMES, (start, before, after), strict=True)
        if model is not None
    }
    x, y = _samples(data)
    for name, module in modules.items():
        require_finite(module, name)
        _require_cpu(module, name)
    kind = next((p.dtype for p in modules["before"].parameters() if p.is_floating_point()), x.dtype)
    x = x.to(kind)
    with still(*modules.values()):
        outputs = _outputs(modules, x)
        nets = {name: _probed(name, module) for name, module in modules.items()}
        y = fit_labels(y, outputs)
        yield Comparison(
            nets["before"], nets["after"], nets.get("start"), x, y, outputs, _image_shape(x, image)
        )


def _module(model: Any, name: str) -> nn.Module:
    if isinstance(model, Net):
        return to_module(model)
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"`{name}` of `probe` must be a torch.nn.Module or a karat net, got {type(model).__name__}."
        )
    if not weight_layers(model):
        raise ValueError(f"`{name}` of `probe` has no layer with weights.")
    return model


def _probed(name: str, module: nn.Module) -> ProbedNet:
    scores = OneOutput(module).eval()
    return ProbedNet(name, module, scores, ModuleClassifier(scores))


def _samples(data: Any) -> tuple[Tensor, Tensor]:
    if isinstance(data, Samples):
        return data.x, data.y
    if isinstance(data, list | tuple) and len(data) == 2:
        x, y = torch.as_tensor(data[0]), torch.as_tensor(data[1])
        if x.dim() < 2 or y.shape != (len(x),) or len(x) == 0:
            raise ShapeError(
                f"`data` of `probe` must be x (n, ...) and y (n,), got {tuple(x.shape)}, {tuple(y.shape)}."
            )
        if not bool(torch.isfinite(x).all()):
            raise ValueError("`x` of `probe` must hold finite numbers.")
        return (x / 255 if x.dtype == torch.uint8 else x), y
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        return load_samples(data)
    raise TypeError(
        f"`data` of `probe` must be (x, y), a file or the name of a set, got {type(data).__name__}."
    )


def _require_cpu(module: nn.Module, name: str) -> None:
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.device.type != "cpu":
            raise ValueError(f"`{name}` of `probe` must be on the CPU, got {tensor.device}: call `.cpu()`.")


def _outputs(modules: dict[str, nn.Module], x: Tensor) -> int:
    """Outputs of all nets, equal; a net that cannot take the inputs says so in one sentence."""
    counts = {}
    for name, module in modules.items():
        try:
            with torch.no_grad():
                first_tensor(module(x[:2].clone()))
        except TypeError:
            raise
        except Exception as error:
            shape = tuple(x.shape[1:])
            raise ShapeError(
                f"`{name}` of `probe` cannot take inputs of shape {shape}: {reason(error, 200)}."
            ) from error
        counts[name] = count_outputs(OneOutput(module), x)
    if len(set(counts.values())) > 1:
        raise ValueError(f"the nets of `probe` must have equally many outputs, got {counts}.")
    return counts["before"]


def _image_shape(x: Tensor, image: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    if image is not None:
        if len(image) != 3 or image[0] * image[1] * image[2] != x[0].numel() or image[0] not in (1, 3):
            raise ShapeError(
                f"`image` of `probe` must be (1 or 3, height, width) of {x[0].numel()} numbers, got {image}."
            )
        return image
    if x.dim() == 4 and x.shape[1] in (1, 3):
        return int(x.shape[1]), int(x.shape[2]), int(x.shape[3])
    return None
