"""Gaussian vectors in any dimension d, known through inner products: nets and data, and fresh test points."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_shape
from karat.reductions.span.factor import pivoted_cholesky

if TYPE_CHECKING:
    from karat.attacks.inner_products.gram import GramNet


def gaussian_rows(
    count: int, d: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> Tensor:
    r"""Independent N(0, I_d) vectors, rotated so that the first axis stays and the rest is triangular.

    .. math:: \text{rows} = [g, L]: \qquad g \sim N(0, I), \quad L_{ii} \sim \chi_{d - 1 - i}, \quad
        L_{ij} \sim N(0, 1) \text{ for } j < i, \qquad i = 0, 1, \dots

    All inner products, among the rows and with the fixed first axis, have exactly the law they have in d
    dimensions (Bartlett's decomposition), at a cost of count^2 numbers for any d. With mu on the first axis,
    W = sd * rows[:m] and x = y mu + rows[m:] are a Gaussian net and two Gaussian clusters, and a test point
    is y mu + N(0, I_r). Equal seeds share their rows whatever mu and sd are.

    Args:
        count: number of vectors.
        d: their dimension.
        generator: draws them.
        dtype: of the rows.

    Returns:
        (count, r) with r = min(d, count + 1).

    >>> gaussian_rows(3, 10**6, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([3, 4])
    """
    require_integer(count, "count", "gaussian_rows", minimum=1)
    require_integer(d, "d", "gaussian_rows", minimum=1)
    if d <= count + 1:
        return torch.randn(count, d, generator=generator, dtype=dtype)
    first = torch.randn(count, 1, generator=generator, dtype=dtype)
    rest = torch.randn(count, count, generator=generator, dtype=dtype).tril_(-1)
    freedom = d - 1 - torch.arange(count, dtype=torch.float64)
    rest.diagonal().copy_(chi(freedom, generator=generator))
    return torch.cat([first, rest], dim=1)


def chi(freedom: Tensor, *, generator: torch.Generator) -> Tensor:
    r"""Independent chi variables with the given degrees of freedom (k,), each >= 1, in float64.

    :math:`\chi^2/2` is a Gamma(freedom / 2) variable. Marsaglia and Tsang's rejection method draws
    Gamma(shape + 1), and the factor :math:`U^{1/\text{shape}}` takes it to Gamma(shape).
    """
    shape = freedom.double() / 2
    offset = shape + 1 - 1 / 3
    value = torch.zeros_like(shape)
    missing = torch.ones_like(shape, dtype=torch.bool)
    while bool(missing.any()):
        normal = torch.randn(shape.shape, generator=generator, dtype=torch.float64)
        uniform = torch.rand(shape.shape, generator=generator, dtype=torch.float64)
        cube = (1 + normal / (9 * offset).sqrt()) ** 3
        bound = normal.square() / 2 + offset * (1 - cube + cube.clamp_min(1e-300).log())
        accepted = missing & (cube > 0) & (uniform.log() < bound)
        value = torch.where(accepted, offset * cube, value)
        missing &= ~accepted
    boost = 1 - torch.rand(shape.shape, generator=generator, dtype=torch.float64)
    return (2 * value * boost ** (1 / shape)).sqrt()


def gaussian_products(net: "GramNet", mean: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
    r"""Products W x of fresh points :math:`x = y \mu + \xi`, :math:`\xi \sim N(0, I_d)`, without W.

    :math:`W \xi` has the law :math:`N(0, G)`, which is all that is needed.

    Exact in law for any number of points at one time, with mean = W mu carried along as a tracked point.

    Args:
        net: the net up to rotation.
        mean: (m,) products of mu.
        y: (k,) signs of the clusters.
        generator: draws xi.

    Returns:
        (k, m).
    """
    require_shape(mean, "mean", (len(net.w),))
    scale = float(net.G.diagonal().max())
    root, _ = pivoted_cholesky(net.G, max(scale, 0.0) * len(mean) * torch.finfo(net.G.dtype).eps)
    root = root.to(mean.dtype)
    noise = torch.randn(len(y), root.shape[1], generator=generator, dtype=mean.dtype)
    return torch.addmm(torch.outer(y.to(mean.dtype), mean), noise, root.T)
