"""A user's module as a plain sequence of layers, where its forward pass is one."""

import warnings
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from karat.nets.outputs import first_tensor
from karat.nets.unaltered import alteration

_RELUS = {torch.relu, torch.relu_, functional.relu, "relu", "relu_"}
_FLATTENS = {torch.flatten, "flatten"}


def as_sequential(module: nn.Module, x: Tensor) -> nn.Sequential | None:
    """The same layers in a Sequential if each one reads only the layer before it; None if that is not so.

    The forward pass is traced symbolically, so a branch on values makes it no sequence. Calls of relu and
    flatten become layers. The result shares the module's weights, and must agree with it on the inputs x.

    Args:
        module: in eval mode; x: (n, ...) inputs of the shape it will be used on.
    """
    if alteration(module) or type(module).__call__ is not nn.Module.__call__:
        return None  # tracing reads `forward` of the class and sees nothing that was hung around it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = fx.symbolic_trace(module).graph
        layers = _layers(module, graph)
    except Exception:  # symbolic tracing may fail in any way inside a user's code
        return None
    if layers is None:
        return None
    chain = nn.Sequential(*layers).eval()
    with torch.no_grad():
        wanted, found = first_tensor(module(x)), chain(x)
    same = wanted.shape == found.shape and torch.allclose(wanted, found, rtol=1e-5, atol=1e-6)
    return chain if same else None


def _layers(module: nn.Module, graph: fx.Graph) -> list[nn.Module] | None:
    """The layers of a chain, None if the graph is not one."""
    parts, layers, last = dict(module.named_modules()), list[nn.Module](), None
    for node in graph.nodes:
        if node.op == "placeholder":
            if last is None:
                last = node
            continue
        if node.op == "output":
            answer = node.args[0]
            return layers if (answer[0] if isinstance(answer, tuple) else answer) is last else None
        if node.all_input_nodes != [last]:
            return None
        layer = parts.get(node.target) if node.op == "call_module" else _layer_of_call(node)
        if layer is None:
            return None
        layers.append(layer)
        last = node
    return None


def _layer_of_call(node: Any) -> nn.Module | None:
    if node.target in _RELUS:
        return nn.ReLU()
    if node.target in _FLATTENS:
        given = dict(zip(("start_dim", "end_dim"), node.args[1:], strict=False)) | node.kwargs
        given.pop("input", None)
        return nn.Flatten() if given in ({"start_dim": 1}, {"start_dim": 1, "end_dim": -1}) else None
    return None
