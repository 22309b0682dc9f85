"""Which hidden units are awake in any torch module: the signs that its rectifiers see."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from karat.core.checks import require_integer
from karat.nets.hooks import watching
from karat.nets.modes import evaluation

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
        x: (n, ...) inputs.
        batch_size: how many at a time.
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

    Ref: purification, Fig 5
    """
    patterns = activation_patterns(module, x, batch_size=batch_size)
    return {name: float(signs.double().mean()) for name, signs in patterns.items()}


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
