"""Look on while a module computes: what its parts are given and what they return."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def watching(
    module: nn.Module,
    names: Collection[str] | None = None,
    *,
    before: Callable[[str, tuple[Any, ...]], object] | None = None,
    after: Callable[[str, Any], object] | None = None,
) -> Iterator[None]:
    """Be told of every call of a module's parts until the end of the block; nothing is changed.

    Args:
        module: whose forward pass is watched.
        names: of the parts, as `named_modules` has them; all of them when left out.
        before: called with the name of a part and its inputs when its forward pass begins.
        after: called with the name of a part and its output when its forward pass is over.

    >>> import torch
    >>> net, called = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), []
    >>> with watching(net, {"0", "1"}, after=lambda name, output: called.append((name, output.shape[1]))):
    ...     _ = net(torch.ones(1, 2))
    >>> called
    [('0', 3), ('1', 3)]
    """
    handles = []
    try:
        for name, part in module.named_modules():
            if names is None or name in names:
                if before is not None:
                    handles.append(part.register_forward_pre_hook(_entering(before, name)))
                if after is not None:
                    handles.append(part.register_forward_hook(_leaving(after, name)))
        yield
    finally:
        for handle in handles:
            handle.remove()


# A hook that returns something replaces the inputs or the output: these return nothing.
def _entering(tell: Callable[[str, tuple[Any, ...]], object], name: str) -> Callable[..., None]:
    def hook(part: nn.Module, inputs: tuple[Any, ...]) -> None:
        tell(name, inputs)

    return hook


def _leaving(tell: Callable[[str, Any], object], name: str) -> Callable[..., None]:
    def hook(part: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        tell(name, output)

    return hook
