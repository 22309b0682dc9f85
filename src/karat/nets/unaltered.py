"""Whether calling a module computes what its class says: no hook, nothing exchanged on the instance."""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

# Hooks on the backward pass count, too: bounds and attacks are pulled back through a layer by autograd.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def alteration(module: nn.Module) -> str | None:
    """What may make this module compute something else than `type(module).forward`; None if nothing does.

    Whoever reads a module by its class (a certificate, a closed-form attack, a feature in input space) must
    also know that nothing was hung on it. Asked of one module, not of its parts.

    Args:
        module: any module.

    Returns:
        words that go on "the layer ...", such as "has a forward hook".

    >>> layer = nn.ReLU()
    >>> alteration(layer) is None
    True
    >>> handle = layer.register_forward_hook(lambda module, inputs, output: -output)
    >>> alteration(layer)
    'has a forward hook'
    """
    for name in _HOOKS:
        if getattr(module, name):
            return f"has a {_words(name)} hook"
        if getattr(torch_module, f"_global{name}", None):
            return f"runs under a {_words(name)} hook that is registered for all modules"
    if module._compiled_call_impl is not None:
        return "was compiled in place"
    kind = type(module)
    for name in vars(module):
        if callable(getattr(kind, name, None)) or name.startswith("__"):
            return f"has a `{name}` of its own"
    # A class of the user's own has the forward it has: nobody reads such a module by its name.
    known = kind.__module__.partition(".")[0] in ("torch", "karat")
    if (known and not _written_in(kind.forward, kind)) or not _written_in(kind.__call__, nn.Module):
        return "has a class whose `forward` or `__call__` was exchanged"
    loose = [(name, value) for name, value in vars(module).items() if isinstance(value, Tensor)]
    for name, tensor in [*module._parameters.items(), *module._buffers.items(), *loose]:
        if tensor is None:
            continue
        if type(tensor) not in (Tensor, nn.Parameter, nn.Buffer):
            return f"holds a `{type(tensor).__name__}`, which may redefine arithmetic"
        if name != "num_batches_tracked" and not (
            tensor.is_floating_point() and tensor.layout == torch.strided
        ):
            return f"holds `{name}` of type {tensor.dtype}, {tensor.layout}, not plain real numbers"
    return None


def _written_in(function: Callable[..., Any], kind: type) -> bool:
    """Whether a function stands in the file of a class; what wraps it, stands elsewhere."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == sys.modules[kind.__module__].__file__


def _words(name: str) -> str:
    """'_forward_pre_hooks' -> 'forward pre'."""
    return name.removesuffix("_hooks").strip("_").replace("_", " ")
