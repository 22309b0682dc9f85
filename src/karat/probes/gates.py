"""Activity of each layer of any torch module: the rectifier behind it, in two nets on the same inputs."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from karat.nets.hooks import watching
from karat.nets.modes import evaluation
from karat.nets.weight_layers import weight_layers
from karat.probes.hidden_activity import RECTIFIERS, activation_patterns


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One rectifier in the order of the forward pass.

    Args:
        name: of the rectifier.
        layer: the last layer with weights called before it, None if there is none.
        active_before, active_after: share of positive pre-activations.
        units: per input.
        changed: share of (input, unit) pairs whose sign differs between the nets.
        chance: the same if the signs of the two nets were unrelated, given how often each is positive.
    """

    name: str
    layer: str | None
    units: int
    active_before: float
    active_after: float
    changed: float
    chance: float


def gates(before: nn.Module, after: nn.Module, x: Tensor) -> tuple[Gate, ...]:
    """The rectifiers of two nets of one architecture, compared on the inputs x; none if none is known.

    Reading: behind a residual sum or a batch norm the sign is that of what the rectifier really sees, not of
        the convolution's own output.

    Ref: purification, Fig 5
    """
    layers = gate_layers(before, x)
    if not layers:
        return ()
    first, second = activation_patterns(before, x), activation_patterns(after, x)
    if {name: s.shape for name, s in first.items()} != {name: s.shape for name, s in second.items()}:
        raise ValueError("the two nets must call the same rectifiers in the same order.")
    found = []
    for (name, old), layer in zip(first.items(), layers, strict=True):
        new = second[name]
        p, q = old.double().mean(dim=0), new.double().mean(dim=0)
        found.append(
            Gate(
                name=name,
                layer=layer,
                units=old.shape[1],
                active_before=float(p.mean()),
                active_after=float(q.mean()),
                changed=float((old != new).double().mean()),
                chance=float((p * (1 - q) + q * (1 - p)).mean()),
            )
        )
    return tuple(found)


def gate_layers(module: nn.Module, x: Tensor) -> list[str | None]:
    """For every call of a rectifier, in order, the layer with weights that was called last before it."""
    layers = {layer.name.removesuffix(".in_proj"): layer.name for layer in weight_layers(module)}
    called: list[str] = []
    seen = watching(module, layers, after=lambda name, output: called.append(layers[name]))
    with evaluation(module), seen, _Order(called) as order:
        module(x[:1].clone())
    return order.layers


class _Order(TorchFunctionMode):
    """Notes for every rectifier the layer that was called last."""

    def __init__(self, called: list[str]) -> None:
        super().__init__()
        self.called, self.layers = called, list[str | None]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in RECTIFIERS:
            self.layers.append(self.called[-1] if self.called else None)
        return func(*args, **(kwargs or {}))
