"""Modules at rest for a while, and then as they were."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def still(*modules: nn.Module) -> Iterator[None]:
    """Evaluation mode and no gradients of parameters until the end of the block, then both as they were.

    >>> net = nn.Sequential(nn.Linear(2, 1), nn.Dropout())
    >>> with still(net):
    ...     net[1].training, net[0].weight.requires_grad
    (False, False)
    >>> net[1].training, net[0].weight.requires_grad
    (True, True)
    """
    modes = {part: part.training for module in modules for part in module.modules()}
    trained = {p: p.requires_grad for module in modules for p in module.parameters()}
    try:
        for module in modules:
            module.eval().requires_grad_(False)
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
        for parameter, flag in trained.items():
            parameter.requires_grad_(flag)


@contextmanager
def evaluation(*modules: nn.Module) -> Iterator[None]:
    """The same as `still`, and nothing computed in the block records gradients."""
    with still(*modules), torch.no_grad():
        yield
