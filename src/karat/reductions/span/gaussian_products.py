"""Fresh Gaussian test points of a net that is known up to rotation."""

import torch
from torch import Tensor

from karat.attacks.inner_products.gram import GramNet
from karat.core.checks import require_shape
from karat.reductions.span.factor import pivoted_cholesky


def gaussian_products(net: GramNet, mean: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
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
