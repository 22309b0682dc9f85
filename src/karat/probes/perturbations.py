"""What a perturbation looks like in the basis of the features: dense or sparse, universal or not."""

import torch
from torch import Tensor


def density(delta: Tensor, M: Tensor) -> Tensor:
    """(n,) |c|_1^2 / (D |c|_2^2) of the coefficients c = M^T delta: 1 if all are equal, 1/D if one is left.

    >>> density(torch.tensor([[1.0, 1.0], [0.0, 3.0]]), torch.eye(2))
    tensor([1.0000, 0.5000])

    Ref: purification, Fig 7
    """
    c = delta @ M.to(delta)
    size = c.square().sum(dim=1).clamp_min(torch.finfo(c.dtype).tiny)
    return c.abs().sum(dim=1).square() / (c.shape[1] * size)


def cosine_with(delta: Tensor, direction: Tensor) -> Tensor:
    """(n,) cosine of every perturbation with one direction, or with its own row of a table (n, d)."""
    target = direction.to(delta).expand_as(delta)
    return torch.nn.functional.cosine_similarity(delta, target, dim=1)
