"""In how many directions a perturbation lives: in pixels, frequencies, principal components, any basis."""

import math
from dataclasses import dataclass

import torch
from scipy.optimize import brentq
from scipy.stats import norm as gaussian
from torch import Tensor

from karat.core.checks import ShapeError, require_integer, require_number, require_shape


@dataclass(frozen=True, kw_only=True)
class Density:
    """Means over a set of vectors of what their coefficients in one basis say.

    Args:
        participation: effective number of coefficients.
        k90: how many of the largest hold 90 % of the energy.
        leading: energy share of the basis' first 50 elements (slowest waves, largest components).
    """

    participation: float
    k90: float
    leading: float


def participation_ratio(coefficients: Tensor) -> Tensor:
    """(n,) (sum c^2)^2 / sum c^4: the number of coefficients if their sizes were equal; 0 for a zero vector.

    >>> participation_ratio(torch.tensor([[1.0, -1.0, 0.0], [0.0, 0.0, 2.0]]))
    tensor([2., 1.])

    Ref: purification, Fig 7
    """
    share = _shares(coefficients)
    squares = share.square().sum(dim=1)
    return torch.where(squares > 0, 1 / squares, 0.0).to(coefficients)


def components_for(coefficients: Tensor, share: float = 0.9) -> Tensor:
    """(n,) least number of coefficients that hold `share` of the energy.

    >>> components_for(torch.tensor([[3.0, 1.0, 0.0, 0.0]]), 0.9)
    tensor([1])
    """
    require_number(share, "share", "components_for", positive=True, maximum=1)
    total = _shares(coefficients).sort(dim=1, descending=True).values.cumsum(dim=1)
    # Rounding must not ask for one more coefficient than there are.
    return ((total < share - 1e-12).sum(dim=1) + 1).clamp_max(coefficients.shape[1])


def leading_share(coefficients: Tensor, count: int = 50) -> Tensor:
    """(n,) share of the energy in the first `count` coefficients, the basis being in a meaningful order."""
    require_integer(count, "count", "leading_share", minimum=1)
    return _shares(coefficients)[:, :count].sum(dim=1).to(coefficients)


def describe(coefficients: Tensor, count: int = 50) -> Density:
    """Means over the rows of (n, D) coefficients."""
    return Density(
        participation=float(participation_ratio(coefficients).double().mean()),
        k90=float(components_for(coefficients).double().mean()),
        leading=float(leading_share(coefficients, count).double().mean()),
    )


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
    """(size, size) orthonormal rows sqrt(2/size) cos(pi f (2 t + 1) / (2 size)), the first constant."""
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
    try:
        return torch.linalg.eigh(square).eigenvectors.T.flip(0)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        # Many equal eigenvalues, as zero pixels or few images give, can be too much for single precision.
        return torch.linalg.eigh(square.double()).eigenvectors.T.flip(0)


def noise_density(dimension: int, count: int = 50) -> Density:
    """The same quantities for white Gaussian noise, by formula.

    The energy shares of noise follow a Dirichlet law with parameters 1/2, so E sum p^2 = 3/(D + 2) exactly.
    For k90, D P(|g| > t) coefficients remain above the t with E g^2 1[|g| > t] = 0.9 as D grows.

    >>> noise_density(3072).participation
    1024.6666666666667
    """
    require_integer(dimension, "dimension", "noise_density", minimum=2)

    def missing(t: float) -> float:
        return float(2 * (t * gaussian.pdf(t) + gaussian.sf(t)) - 0.9)

    level = brentq(missing, 0.0, 10.0)
    return Density(
        participation=(dimension + 2) / 3,
        k90=float(2 * dimension * gaussian.sf(level)),
        leading=min(count / dimension, 1.0),
    )


def _shares(coefficients: Tensor) -> Tensor:
    require_shape(coefficients, "coefficients", (None, None))
    energy = coefficients.double().square()
    return energy / energy.sum(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
