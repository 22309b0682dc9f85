"""Coefficients of vectors in the principal components of data, also with fewer data than dimensions."""

import torch
from torch import Tensor

from karat.core.checks import require_shape


def principal_coefficients(vectors: Tensor, data: Tensor, *, generator: torch.Generator) -> Tensor:
    """(n, d) coefficients, largest principal components first, with the length of each vector.

    n data points vary in fewer than n directions. What lies outside of them is given coefficients in a random
    orthonormal basis of the complement: a Gaussian vector scaled to the length of that part has exactly their
    law, and the complement itself is never built.

    Args:
        vectors: (n, ...).
        data: (N, ...) with as many numbers each.
        generator: for the complement.

    >>> data = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> found = principal_coefficients(torch.tensor([[2.0, 3.0, 4.0]]), data, generator=torch.Generator())
    >>> found[0, 0].abs(), found.norm()
    (tensor(2.), tensor(5.3852))
    """
    rows, points = vectors.flatten(1).double(), data.flatten(1).double()
    require_shape(points, "data", (None, rows.shape[1]))
    points = points - points.mean(dim=0)
    d = rows.shape[1]
    if len(points) < d:
        values, weights = torch.linalg.eigh(points @ points.T)
        live = values > values[-1].clamp_min(1e-300) * 1e-10
        axes = (weights[:, live].T @ points).flip(0)
        axes = axes / torch.linalg.vector_norm(axes, dim=1, keepdim=True)
    else:
        axes = torch.linalg.eigh(points.T @ points).eigenvectors.T.flip(0)
    inside = rows @ axes.T
    if axes.shape[0] == d:
        return inside.to(vectors)
    rest = torch.linalg.vector_norm(rows - inside @ axes, dim=1, keepdim=True)
    noise = torch.randn(len(rows), d - len(axes), generator=generator, dtype=torch.float64)
    outside = rest * noise / torch.linalg.vector_norm(noise, dim=1, keepdim=True)
    return torch.cat([inside, outside], dim=1).to(vectors)
