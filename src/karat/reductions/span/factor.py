"""Square roots of Gram matrices that may be singular."""

import torch
from scipy.linalg import lapack
from torch import Tensor


def pivoted_cholesky(gram: Tensor, tol: float) -> tuple[Tensor, Tensor]:
    r"""Rows with the inner products of a Gram matrix, in as many coordinates as it has rank.

    :math:`R R^T` is the Gram matrix up to tol, and R[order[:r]] is lower triangular.

    Args:
        gram: (k, k) positive semi-definite.
        tol: pivots at most this size are taken for zero.

    Returns:
        R (k, r) in float64, and order (k,): the pivots first.

    >>> R, order = pivoted_cholesky(torch.tensor([[1.0, 1.0], [1.0, 1.0]]), 1e-12)
    >>> R.tolist()
    [[1.0], [1.0]]
    """
    matrix = gram.double().numpy(force=True)
    if not matrix.any():
        return torch.zeros(len(matrix), 0, dtype=torch.float64), torch.arange(len(matrix))
    lower, pivots, rank, _ = lapack.dpstrf(matrix, tol=tol, lower=1)
    order = torch.from_numpy(pivots.astype("int64") - 1)
    rows = torch.empty(len(matrix), rank, dtype=torch.float64)
    rows[order] = torch.from_numpy(lower).tril()[:, :rank]
    return rows, order
