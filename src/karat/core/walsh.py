"""Walsh-Hadamard transforms: correlations of functions on the cube with all parities at once."""

import torch
from torch import Tensor

from karat.core.checks import require_integer


def cube(D: int, dtype: torch.dtype = torch.float64) -> Tensor:
    r"""All :math:`2^D` points of :math:`\{-1, +1\}^D`; row r has -1 where the binary digit of r is one.

    >>> cube(2).tolist()
    [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    """
    require_integer(D, "D", "cube", minimum=1)
    digits = (torch.arange(2**D)[:, None] >> torch.arange(D)) & 1
    return (1 - 2 * digits).to(dtype)


def parity_correlations(values: Tensor) -> Tensor:
    r""":math:`\mathbb{E}\big[f(z) \prod_{j \in A} z_j\big]` over the cube for every A, by the fast transform.

    Args:
        values: (2^D, ...) functions on the points of `cube`, one per trailing index.

    Returns:
        (2^D, ...): row r belongs to the set A of the binary digits of r.

    >>> parity_correlations(cube(2).prod(dim=1)).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    size = len(values)
    D = size.bit_length() - 1
    if size != 2**D:
        raise ValueError(f"`values` of `parity_correlations` must have 2^D rows, got {size}.")
    table = values.reshape([2] * D + [-1]).clone()
    for axis in range(D):
        plus, minus = table.select(axis, 0).clone(), table.select(axis, 1).clone()
        table.select(axis, 0).copy_(plus + minus)
        table.select(axis, 1).copy_(plus - minus)
    return (table / size).reshape(values.shape)


def sets_of_size(D: int, k: int) -> Tensor:
    """Rows of the transform that belong to sets of k elements.

    >>> sets_of_size(3, 2).tolist()
    [3, 5, 6]
    """
    digits = (torch.arange(2**D)[:, None] >> torch.arange(D)) & 1
    return (digits.sum(dim=1) == k).nonzero().squeeze(1)
