"""How evenly the energy of a vector is spread over its coefficients: in pixels, waves, components, features.

Two measures of spread are used. `participation_ratio` counts the coefficients that carry the energy;
`flatness` is a share of all of them and, being made of absolute values, sees many small coefficients that
carry little energy.
"""

from dataclasses import dataclass

import torch
from scipy.optimize import brentq
from scipy.stats import norm as gaussian
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_shape


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
    r"""(n,) the number of coefficients if their sizes were equal; 0 for a zero vector.

    .. math:: \Big(\sum_j c_j^2\Big)^2 \Big/ \sum_j c_j^4

    >>> participation_ratio(torch.tensor([[1.0, -1.0, 0.0], [0.0, 0.0, 2.0]]))
    tensor([2., 1.])

    Ref: purification, Fig 7
    """
    share = _shares(coefficients)
    squares = share.square().sum(dim=1)
    return torch.where(squares > 0, 1 / squares, 0.0).to(coefficients)


def flatness(vectors: Tensor, M: Tensor) -> Tensor:
    r"""(n,) how flat the coefficients :math:`c = M^\top v` are: 1 if all are equal, 1/D if one is left.

    .. math:: \|c\|_1^2 \,/\, (D \|c\|_2^2)

    >>> flatness(torch.tensor([[1.0, 1.0], [0.0, 3.0]]), torch.eye(2))
    tensor([1.0000, 0.5000])

    Ref: purification, Fig 7
    """
    c = vectors @ M.to(vectors)
    size = c.square().sum(dim=1).clamp_min(torch.finfo(c.dtype).tiny)
    return c.abs().sum(dim=1).square() / (c.shape[1] * size)


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


def mean_density(coefficients: Tensor, count: int = 50) -> Density:
    """Means over the rows of (n, D) coefficients."""
    return Density(
        participation=float(participation_ratio(coefficients).double().mean()),
        k90=float(components_for(coefficients).double().mean()),
        leading=float(leading_share(coefficients, count).double().mean()),
    )


def noise_density(dimension: int, count: int = 50) -> Density:
    r"""The same quantities for white Gaussian noise, by formula.

    The energy shares :math:`p_j` of noise follow a Dirichlet law with parameters 1/2, so
    :math:`\mathbb{E} \sum_j p_j^2 = 3 / (D + 2)` exactly. For k90, :math:`D\,P(|g| > t)` coefficients remain
    above the t with :math:`\mathbb{E}\, g^2 1[|g| > t] = 0.9` as D grows.

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
