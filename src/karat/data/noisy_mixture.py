"""The noisy mixture: two strongly log-concave clusters at +mu and -mu, with flipped labels."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from karat.core.checks import require_choice, require_integer, require_shape
from karat.core.ranges import Count, NonNegative, checked
from karat.data.cluster_law import ClusterLaw
from karat.data.clusters import Gaussian
from karat.data.label_noise import FLIPS, require_flip_rate
from karat.data.samples import Samples


@dataclass(frozen=True, kw_only=True, eq=False)
@checked
class NoisyMixture:
    r"""Two clusters on either side of the origin, with a fraction of the labels wrong.

    .. math:: y_c \text{ uniform on } \{-1, +1\}, \qquad x = y_c \mu + \xi, \qquad
              y = -y_c \text{ with probability } \beta, \text{ else } y_c

    Symbols: mu (mu, of length signal_norm), beta (flip_rate), y_c (y_clean), D_clust (cluster, d independent
        coordinates).

    Args:
        d: input dimension.
        signal_norm: :math:`\|\mu\|_2`.
        flip_rate: probability that a label is flipped, in [0, 1/2).
        cluster: law of one coordinate of xi.
        flips: "independent" coins, "correlated" coins shared by blocks of samples, or "boundary" (the samples
            of smallest margin :math:`y_c \langle \mu, x \rangle`).
        flip_block: samples per coin, for correlated flips only.
        direction: (d,) unit vector :math:`\mu / \|\mu\|`; the first axis when left out.

    Reading: the default N(0, 1) coordinate is the one of the printed experiments and has sub-Gaussian norm
    1.63, above the 1 of the definition; `admissible(Gaussian())` meets it.

    Example:
        >>> model = NoisyMixture(d=4, signal_norm=3.0, flip_rate=0.1)
        >>> model.mu.tolist()
        [3.0, 0.0, 0.0, 0.0]
        >>> model.sample(5, generator=torch.Generator().manual_seed(0)).x.shape
        torch.Size([5, 4])

    Ref: benign, Def 2.1
    """

    d: Count
    signal_norm: NonNegative
    flip_rate: float
    cluster: ClusterLaw = field(default_factory=Gaussian)
    flips: str = "independent"
    flip_block: Count = 10
    direction: Tensor | None = None

    def __post_init__(self) -> None:
        require_flip_rate(self.flip_rate, "NoisyMixture")
        require_choice(self.flips, "flips", "NoisyMixture", list(FLIPS))
        if self.direction is not None:
            require_shape(self.direction, "direction", (self.d,))
            norm = float(torch.linalg.vector_norm(self.direction.double()))
            if abs(norm - 1) > 1e-6:
                raise ValueError(f"`direction` of `NoisyMixture` must have length 1, got {norm:g}.")

    @cached_property
    def mu(self) -> Tensor:
        """(d,) mean of the positive cluster, float64."""
        return self.signal_norm * self._unit

    @cached_property
    def _unit(self) -> Tensor:
        if self.direction is not None:
            return self.direction.double()
        axis = torch.zeros(self.d, dtype=torch.float64)
        axis[0] = 1
        return axis

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        """Draw labelled points.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        require_integer(n, "n", "NoisyMixture.sample", minimum=1)
        y_clean = torch.randint(0, 2, (n,), generator=generator).to(dtype).mul_(2).sub_(1)
        x = self.cluster.sample((n, self.d), generator=generator, dtype=dtype)
        x.addr_(y_clean, self.mu.to(dtype))
        score = y_clean * (x @ self._unit.to(dtype))
        flipped = FLIPS[self.flips](score, self.flip_rate, self.flip_block, generator)
        return Samples(x=x, y=torch.where(flipped, -y_clean, y_clean), y_clean=y_clean, flipped=flipped)
