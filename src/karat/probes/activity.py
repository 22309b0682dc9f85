"""Which hidden units are active: in any torch module by what its rectifiers see, and in an odd net."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from karat.core.checks import require_integer
from karat.nets.hooks import watching
from karat.nets.modes import evaluation
from karat.nets.odd_two_layer import OddTwoLayer
from karat.nets.weight_layers import weight_layers

RECTIFIERS = frozenset(
    {
        torch.relu,
        torch.relu_,
        Tensor.relu,
        Tensor.relu_,
        functional.relu,
        functional.relu6,
        functional.leaky_relu,
        functional.elu,
        functional.selu,
        functional.gelu,
        functional.silu,
        functional.softplus,
    }
)
"""Activations that pass positive inputs on and damp negative ones."""


def activation_patterns(module: nn.Module, x: Tensor, *, batch_size: int = 250) -> dict[str, Tensor]:
    """Bool (n, units) per rectifier in the order of the forward pass: which pre-activations are positive.

    Rectifiers are found by watching the forward pass, so modules (`nn.ReLU`) and function calls inside any
    `forward` are seen alike. A rectifier is named after the module that calls it, numbered from its second
    call on ("stages.0.1", "stages.0.1:2"). The module runs in evaluation mode, without gradients.

    Args:
        module: any module.
        x: (n, ...) inputs.
        batch_size: how many inputs at a time.
    """
    require_integer(batch_size, "batch_size", "activation_patterns", minimum=1)
    parts: dict[str, list[Tensor]] = {}
    with evaluation(module):
        for chunk in x.split(batch_size):
            with _calling(module) as stack, _Watch(stack) as watch:
                module(chunk)
            for name, signs in watch.seen.items():
                parts.setdefault(name, []).append(signs)
    if not parts:
        raise ValueError("the module calls no rectifier that karat knows, such as relu, leaky_relu or gelu.")
    return {name: torch.cat(signs) for name, signs in parts.items()}


def active_shares(module: nn.Module, x: Tensor, *, batch_size: int = 250) -> dict[str, float]:
    """Share of positive pre-activations per rectifier, over inputs, places and channels.

    Args:
        module: any module.
        x: (n, ...) inputs.
        batch_size: how many inputs at a time.

    Ref: purification, Fig 5
    """
    patterns = activation_patterns(module, x, batch_size=batch_size)
    return {name: float(signs.double().mean()) for name, signs in patterns.items()}


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One rectifier in the order of the forward pass.

    Args:
        name: of the rectifier.
        layer: the last layer with weights called before it, None if there is none.
        units: per input.
        active_before: share of positive pre-activations in the net before.
        active_after: the same in the net after.
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
    """The rectifiers of two nets of one architecture, compared on the same inputs; none if none is known.

    Args:
        before: one net.
        after: the other net.
        x: (n, ...) inputs.

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
    compared = []
    for (name, old), layer in zip(first.items(), layers, strict=True):
        new = second[name]
        p, q = old.double().mean(dim=0), new.double().mean(dim=0)
        compared.append(
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
    return tuple(compared)


def gate_layers(module: nn.Module, x: Tensor) -> list[str | None]:
    """For every call of a rectifier, in order, the layer with weights that was called last before it."""
    layers = {layer.name.removesuffix(".in_proj"): layer.name for layer in weight_layers(module)}
    called: list[str] = []
    seen = watching(module, layers, after=lambda name, output: called.append(layers[name]))
    with evaluation(module), seen, _Order(called) as order:
        module(x[:1].clone())
    return order.layers


def activation_rate(net: OddTwoLayer, x: Tensor) -> Tensor:
    r"""(m,) share of the inputs on which :math:`|\langle w_i, x \rangle|` passes the threshold.

    Without self-activation a neuron of one feature wakes as often as its code is non-zero,
    :math:`\mathbb{E} \|z\|_0 / D`.
    """
    return (net.projections(x).abs() > -net.b).to(x.dtype).mean(dim=0)


def near_threshold_count(net: OddTwoLayer, x: Tensor, share: float = 0.1) -> Tensor:
    r"""(n,) number of neurons with :math:`|\langle w_i, x \rangle|` at least a share of the threshold b.

    It is O(k) once every neuron is nearly a singleton.

    Args:
        net: an odd net.
        x: (n, d) inputs.
        share: of the threshold.

    Ref: purification, Lemma C.19
    """
    return (net.projections(x).abs() >= -share * net.b).sum(dim=1)


class _Watch(TorchFunctionMode):
    """Notes the signs of what every rectifier is given."""

    def __init__(self, stack: list[str]) -> None:
        super().__init__()
        self.stack, self.seen = stack, dict[str, Tensor]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in RECTIFIERS:
            given = args[0] if args else (kwargs or {})["input"]
            # Read before the call: an activation in place overwrites its input.
            self._note(given.detach() > 0)
        return func(*args, **(kwargs or {}))

    def _note(self, signs: Tensor) -> None:
        owner = self.stack[-1] if self.stack else ""
        name, count = owner or "forward", 1
        while name in self.seen:
            count += 1
            name = f"{owner or 'forward'}:{count}"
        self.seen[name] = signs.flatten(1)


@contextmanager
def _calling(module: nn.Module) -> Iterator[list[str]]:
    """The names of the modules whose forward pass is under way, innermost last."""
    stack: list[str] = []
    with watching(
        module, before=lambda name, inputs: stack.append(name), after=lambda name, output: stack.pop()
    ):
        yield stack


class _Order(TorchFunctionMode):
    """Notes for every rectifier the layer that was called last."""

    def __init__(self, called: list[str]) -> None:
        super().__init__()
        self.called, self.layers = called, list[str | None]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in RECTIFIERS:
            self.layers.append(self.called[-1] if self.called else None)
        return func(*args, **(kwargs or {}))
