"""The law of the hidden sparse code z: independent symmetric coordinates, most of them zero."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Positive, checked

MULTI_SCALE: tuple[tuple[float, float], ...] = ((0.314, 0.628), (0.123, 0.0888))
"""The paper's intermediate scales: |z_i| = k^-0.314 w.p. k^0.628 / D, and k^-0.123 w.p. k^0.0888 / D."""


@dataclass(frozen=True, kw_only=True)
@checked
class SparseCode:
    r"""D independent symmetric coordinates with :math:`|z_i| \in \{0\} \cup [1/\sqrt k, 1]`.

    .. math:: |z_i| = \begin{cases}
              1 & \text{with probability } \text{large rate} / D \\
              s / \sqrt k & \text{with probability } \text{small rate} \cdot k / D,
              \quad s \text{ uniform on } [1, \text{small spread}] \\
              k^{-a} & \text{with probability } \text{scale rate} \cdot k^r / D
              \text{ for each } (a, r) \text{ in scales} \\
              0 & \text{otherwise} \end{cases}

    Args:
        k: sparsity; small coordinates are about :math:`1 / \sqrt k` and :math:`\mathbb{E} \|z\|_0` is of
            order k.
        D: number of coordinates.
        large_rate: expected number of coordinates of size 1, > 0.
        small_rate: expected number of small coordinates divided by k, > 0.
        small_spread: largest s, in :math:`[1, \sqrt k]`. With 1 and :math:`w^* = \pm 1` exact ties
            :math:`\langle w^*, z \rangle = 0` are frequent.
        scales: pairs (a, r) of intermediate sizes, :math:`0 \le a \le 1/2` and :math:`r \le 2a` so that
            :math:`\mathbb{E} z_i^2 = O(1/D)`; `MULTI_SCALE` holds the paper's two.
        scale_rate: factor of their probabilities.

    Reading: the paper fixes the law up to constants, with D = d; rates are stated in D so that
        :math:`\mathbb{E} \|z\|_2^2 = \Theta(1)` for every dictionary. The second pair of `MULTI_SCALE` is
        kept as printed (0.0888, where 0.246 would keep its share of :math:`\mathbb{E} z_i^2` constant).

    Example:
        >>> code = SparseCode(k=25, D=100)
        >>> round(code.expected_support, 4), round(100 * code.second_moment, 4)
        (3.95, 0.4375)

    Ref: purification, Asm 2.1
    """

    k: Count
    D: Count
    large_rate: Positive = 0.2
    small_rate: Positive = 0.15
    small_spread: Annotated[float, Ge(1)] = 1.5
    scales: tuple[tuple[float, float], ...] = ()
    scale_rate: Positive = 1.0

    def __post_init__(self) -> None:
        if self.k > self.D:
            raise ValueError(f"`k` of `SparseCode` must be at most `D` = {self.D}, got {self.k}.")
        if self.small_spread > math.sqrt(self.k) and self.small_spread > 1:
            raise ValueError(
                f"`small_spread` of `SparseCode` must be at most sqrt(k) = {math.sqrt(self.k):g} so that "
                f"|z_i| <= 1, got {self.small_spread!r}."
            )
        for a, r in self.scales:
            if not (0 <= a <= 0.5 and r <= 2 * a):
                raise ValueError(
                    f"`scales` of `SparseCode` must hold pairs (a, r) with 0 <= a <= 1/2 and r <= 2a, "
                    f"got ({a}, {r})."
                )
        if float(self.probability.sum()) > 1:
            raise ValueError(
                f"`k` of `SparseCode` is too large for these rates: P(z_i != 0) would be "
                f"{float(self.probability.sum()):.3g} > 1; lower `small_rate` or raise `D`."
            )

    @cached_property
    def probability(self) -> Tensor:
        """(2 + len(scales),) probabilities of the levels: large, small, then the intermediate scales."""
        middle = [self.scale_rate * self.k**r for _, r in self.scales]
        rates = [self.large_rate, self.small_rate * self.k, *middle]
        return torch.tensor(rates, dtype=torch.float64) / self.D

    @cached_property
    def size(self) -> Tensor:
        """(2 + len(scales),) magnitudes of the levels, the small one without its factor s."""
        sizes = [1.0, 1 / math.sqrt(self.k), *(self.k**-a for a, _ in self.scales)]
        return torch.tensor(sizes, dtype=torch.float64)

    @property
    def expected_support(self) -> float:
        r""":math:`\mathbb{E} \|z\|_0`, of order k."""
        return self.D * float(self.probability.sum())

    @property
    def second_moment(self) -> float:
        r""":math:`\mathbb{E} z_i^2`, of order 1/D."""
        squares = self.size**2
        squares[1] *= (1 + self.small_spread + self.small_spread**2) / 3
        return float(self.probability @ squares)

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Tensor:
        """Draw codes, (n, D).

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        support, values = self.nonzero(n, generator=generator)
        z = torch.zeros(n * self.D, dtype=dtype)
        z[support] = values.to(dtype)
        return z.reshape(n, self.D)

    def nonzero(self, n: int, *, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw the codes that are on, as positions in the flattened (n, D) codes and float64 values.

        Args:
            n: how many codes of length D; D may be far larger than what fits into memory n times.
            generator: of the draw.
        """
        edges = self.probability.cumsum(0)
        support = self._support(n * self.D, float(edges[-1]), generator)
        draws = torch.rand(3, len(support), generator=generator, dtype=torch.float64)
        # Given that a code is on, its level is drawn in proportion to the rates.
        level = torch.searchsorted(edges, edges[-1] * draws[2], right=True).clamp_(max=len(edges) - 1)
        spread = torch.where(level == 1, 1 + (self.small_spread - 1) * draws[0], 1.0)
        sign = torch.where(draws[1] < 0.5, -1.0, 1.0)
        return support, sign * spread * self.size[level]

    @staticmethod
    def _support(count: int, rate: float, generator: torch.Generator) -> Tensor:
        """Positions that are on, each with probability `rate`, from the geometric gaps between them.

        A draw per code that is on instead of one per code: batches of training are mostly zeros.
        """
        if rate >= 1:
            return torch.arange(count)
        parts, last = [], -1
        while last < count:
            left = (count - last) * rate
            # Six standard deviations more than expected: one round is nearly always enough.
            draws = int(left + 6 * math.sqrt(left)) + 8
            gaps = torch.empty(draws, dtype=torch.float64).geometric_(rate, generator=generator)
            parts.append(gaps.long().cumsum_(0).add_(last))
            last = int(parts[-1][-1])
        positions = torch.cat(parts)
        return positions[positions < count]
