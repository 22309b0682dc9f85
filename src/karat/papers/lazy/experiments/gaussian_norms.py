"""Norms of Gaussian matrices in law, at a cost that does not grow with the longer side."""

import math

import torch
from scipy.linalg import eigh_tridiagonal

from karat.reductions.span.gaussian import chi


def row_and_spectral_norm(rows: int, columns: int, *, generator: torch.Generator) -> tuple[float, float]:
    r"""Draw the length of the first row and the spectral norm of a Gaussian matrix, jointly in law.

    Householder reflections take the matrix to a lower bidiagonal one with independent
    :math:`\chi_q, \chi_{q-1}, \dots` on the diagonal, q the number of columns, and
    :math:`\chi_{k-1}, \chi_{k-2}, \dots` below it, k that of rows; the first entry is the length of the first
    row. The sum of all rows is :math:`\sqrt k` times a row of the matrix seen in another basis.

    Args:
        rows: k.
        columns: q.
        generator: of the draw.

    Returns:
        both norms, 0 without rows or columns.
    """
    size = min(rows, columns)
    if size == 0:
        return 0.0, 0.0
    diagonal = chi(columns - torch.arange(size, dtype=torch.float64), generator=generator)
    below = torch.zeros(size, dtype=torch.float64)
    count = min(columns, rows - 1)
    if count:
        below[:count] = chi(rows - 1 - torch.arange(count, dtype=torch.float64), generator=generator)
    first = float(diagonal[0])
    if size == 1:
        return first, math.hypot(first, float(below[0]))
    largest = eigh_tridiagonal(
        (diagonal.square() + below.square()).numpy(),
        (diagonal[1:] * below[:-1]).numpy(),
        eigvals_only=True,
        select="i",
        select_range=(size - 1, size - 1),
    )
    return first, math.sqrt(float(largest[0]))
