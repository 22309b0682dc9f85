"""Coefficients of images in orthonormal bases with a meaningful order: cosine waves, principal components."""

import math

import torch
from torch import Tensor

from karat.core.checks import ShapeError, require_integer, require_shape


def frequency_coefficients(images: Tensor) -> Tensor:
    """(n, C H W) cosine coefficients of images (n, C, H, W), slowest waves of all channels first.

    The transform is orthonormal per channel, so the energy is that of the pixels.
    """
    if images.dim() != 4:
        raise ShapeError(f"`images` must have shape (n, channels, height, width), got {tuple(images.shape)}.")
    height, width = images.shape[2:]
    rows, columns = cosine_waves(height).to(images), cosine_waves(width).to(images)
    table = rows @ images @ columns.T
    radius = torch.hypot(
        torch.arange(height).unsqueeze(1) / height, torch.arange(width).unsqueeze(0) / width
    ).flatten()
    order = radius.argsort(stable=True)
    return table.flatten(2)[:, :, order].transpose(1, 2).flatten(1)


def cosine_waves(size: int) -> Tensor:
    r"""(size, size) orthonormal rows, the first constant and row f of frequency f.

    .. math:: \sqrt{2 / \text{size}} \, \cos\big(\pi f (2 t + 1) / (2\, \text{size})\big)
    """
    require_integer(size, "size", "cosine_waves", minimum=1)
    f, t = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    waves = torch.cos(math.pi * f.double() * (2 * t + 1) / (2 * size)) * math.sqrt(2 / size)
    waves[0] /= math.sqrt(2)
    return waves


def principal_components(images: Tensor) -> Tensor:
    """(d, d) orthonormal rows: principal components of the rows of images, largest variance first.

    Directions in which the images do not vary come last, so that every vector keeps its energy. Computed in
    the precision of the images: 3,072 pixels take seconds.
    """
    rows = images.flatten(1)
    centred = rows - rows.mean(dim=0)
    square = centred.T @ centred
    # Many equal eigenvalues, as zero pixels or few images give, can be too much for single precision: it
    # raises, or answers with NaN.
    try:
        vectors = torch.linalg.eigh(square).eigenvectors
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        vectors = torch.full_like(square, torch.nan)
    if not bool(vectors.isfinite().all()):
        vectors = torch.linalg.eigh(square.double()).eigenvectors
    return vectors.T.flip(0)


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
        # The small Gram matrix has the same eigenvalues; rounding leaves about 1e-16 where there are none.
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
