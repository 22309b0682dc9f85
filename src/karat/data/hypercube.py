"""Gaussian clusters on the corners of a cube, labelled by the parity of the corner."""

import itertools
import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_shape
from karat.core.ranges import NonNegative, checked
from karat.data.dictionaries import orthonormal
from karat.data.samples import Samples


@dataclass(frozen=True, kw_only=True, eq=False)
@checked
class HypercubeMixture:
    r"""A mixture of :math:`2^k` Gaussians on the corners of a cube, with parity labels.

    .. math:: x = \sum_i z_i M_i + g, \qquad y = \prod_i z_i, \qquad
              z \text{ uniform on } \{-1, +1\}^k, \qquad g \sim N(0, \sigma_r^2 (k/d) I_d)

    Symbols: epsilon (z), M (M), sigma_r (sigma_r).

    Args:
        M: (d, k) orthonormal columns.
        sigma_r: size of the noise; :math:`\|g\|_2` is about :math:`\sigma_r \sqrt k`, a centre has length
            :math:`\sqrt k`.

    Reading: the covariance is :math:`\sigma_r^2 (k/d) I`.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> model = HypercubeMixture.draw(d=25, k=4, sigma_r=0.7, generator=generator)
        >>> centres, labels = model.centres()
        >>> centres.shape, labels.sum().item()
        (torch.Size([16, 25]), 0.0)

    Ref: features, Eq (290)
    """

    M: Tensor
    sigma_r: NonNegative

    def __post_init__(self) -> None:
        require_shape(self.M, "M", (None, None))
        gram = self.M.T @ self.M
        if not torch.allclose(gram, torch.eye(self.k, dtype=gram.dtype), atol=1e-5):
            raise ValueError("`M` of `HypercubeMixture` must have orthonormal columns.")

    @classmethod
    def draw(cls, *, d: int, k: int, sigma_r: float, generator: torch.Generator) -> Self:
        """Draw the k orthonormal columns once.

        Args:
            d: input dimension.
            k: dimension of the cube.
            sigma_r: size of the noise.
            generator: of the columns.
        """
        require_integer(d, "d", "HypercubeMixture", minimum=1)
        require_integer(k, "k", "HypercubeMixture", minimum=1)
        if k > d:
            raise ValueError(f"`k` of `HypercubeMixture` must be at most `d` = {d}, got {k}.")
        return cls(M=orthonormal(d, k, generator=generator), sigma_r=sigma_r)

    @property
    def d(self) -> int:
        """Input dimension."""
        return int(self.M.shape[0])

    @property
    def k(self) -> int:
        """Dimension of the cube."""
        return int(self.M.shape[1])

    def centres(self) -> tuple[Tensor, Tensor]:
        """Return the 2^k cluster centres (2^k, d) and their labels (2^k,)."""
        corners = torch.tensor(list(itertools.product((1.0, -1.0), repeat=self.k)), dtype=self.M.dtype)
        return corners @ self.M.T, corners.prod(dim=1)

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        """Draw labelled points; `z` holds the corners and `component` their rows in `centres`.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        require_integer(n, "n", "HypercubeMixture.sample", minimum=1)
        bits = torch.randint(0, 2, (n, self.k), generator=generator)
        z = (1 - 2 * bits).to(dtype)
        noise = torch.randn(n, self.d, generator=generator, dtype=dtype)
        x = torch.addmm(noise, z, self.M.to(dtype).T, beta=self.sigma_r * math.sqrt(self.k / self.d))
        # The corners of `centres` count in binary, the first coordinate being the leading digit.
        digits = 2 ** torch.arange(self.k - 1, -1, -1)
        return Samples.clean(x, z.prod(dim=1), z=z, component=bits @ digits)
