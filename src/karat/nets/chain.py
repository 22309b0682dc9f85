"""A user's module as a plain sequence of layers, where its forward pass is one."""

import warnings
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from karat.nets.outputs import first_tensor
from karat.nets.unaltered import alteration

_RELUS = {torch.relu, torch.relu_, functional.relu, "relu", "relu_"}
_FLATTENS = {torch.flatten, "flatten"}


def as_sequential(module: nn.Module, x: Tensor) -> nn.Sequential | None:
    """The same layers in a Sequential if each one reads only the layer before it; None if that is not so.

    The forward pass is traced symbolically, so a branch on values makes it no sequence. Calls of relu and
    flatten become layers. The result shares the module's weights. A trace does not see what a module does to
    tensors only (`if torch.is_tensor(x)`), so module and result must also call the same operations of torch,
    in the same order, and give the same numbers.

    Args:
        module: in eval mode.
        x: (n, ...) inputs of the shape it will be used on.
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
    of_module, of_chain = (_watched(model, x) for model in (module, chain))
    return chain if of_module.calls == of_chain.calls and _alike(of_module.output, of_chain.output) else None


class _Calls(TorchDispatchMode):
    """Notes the names of all operations; those in place count as the others."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.output = list[str](), torch.empty(0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(func.__name__.partition(".")[0].rstrip("_"))
        return func(*args, **(kwargs or {}))


def _watched(model: nn.Module, x: Tensor) -> _Calls:
    x = x.clone()
    with torch.no_grad(), _Calls() as watch:
        watch.output = first_tensor(model(x))
    return watch


def _alike(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or not bool(torch.isfinite(one).all()):
        return False
    return float((one - other).abs().max()) <= 1e-5 * float(one.abs().max())


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
