"""Inputs that are equal in all but a few coordinates: what the symmetric reduction sees of a point in d
dimensions."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.core.checks import require_integer
from karat.core.compiled import Array, Indices
from karat.data.sparse_code import SparseCode
from karat.reductions.symmetric.kernels import place, scores

T = TypeVar("T", bound=np.generic)

# A score of magnitude below this is a tie that rounding has hidden: sign(0) = +1 must see it as zero.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class SparsePoints:
    r"""n points :math:`M \tilde x` of which most coordinates :math:`\tilde x_j = w^*_j \langle M_j, x
    \rangle` agree.

    Row i has the coordinates `values[offsets[i]:offsets[i + 1]]`, in any order, and `rest[i]` in all of the
    others. A sparse code has rest 0; an attack moves all zero coordinates alike.

    Args:
        d: number of coordinates.
        values: the coordinates that differ, row after row.
        offsets: (n + 1,) where rows begin and end.
        rest: (n,) the common value of all other coordinates.
    """

    d: int
    values: Array
    offsets: Indices
    rest: Array

    def __len__(self) -> int:
        return len(self.rest)

    @property
    def support(self) -> Indices:
        """(n,) how many coordinates are listed one by one."""
        return np.diff(self.offsets)

    @cached_property
    def rows(self) -> Indices:
        """The row of every listed coordinate."""
        return np.repeat(np.arange(len(self)), self.support)

    @cached_property
    def score(self) -> Array:
        r"""(n,) the sum of all coordinates, :math:`\langle w^*, z \rangle` for a code."""
        sums = np.empty(len(self))
        scores(self.values, self.offsets, self.rest, float(self.d), sums)
        return sums

    @cached_property
    def label(self) -> Array:
        """(n,) the sign of the score, +1 for zero."""
        return np.asarray(np.where(self.score >= -_TIE, 1.0, -1.0), dtype=float)

    def row_sums(self, entries: Array) -> Array:
        """(n,) sums over the listed coordinates of every row.

        Args:
            entries: a number for each of them.
        """
        return np.asarray(np.bincount(self.rows, weights=entries, minlength=len(self)), dtype=float)

    def select(self, chosen: np.ndarray) -> Self:
        """Some of the points.

        Args:
            chosen: (n,) bool.
        """
        offsets = np.concatenate([[0], np.cumsum(self.support[chosen])]).astype(np.int64)
        return type(self)(self.d, self.values[chosen[self.rows]], offsets, self.rest[chosen])

    def per_entry(self, numbers: NDArray[T]) -> NDArray[T]:
        """Repeat a number per row for all of its listed coordinates.

        Args:
            numbers: (n,).
        """
        return numbers[self.rows]

    def moved(self, values: Array, rest: Array) -> Self:
        """The points after a perturbation.

        Args:
            values: its listed coordinates.
            rest: (n,) its common value in all others.
        """
        return replace(self, values=self.values + values, rest=self.rest + rest)

    def dense(self, positions: Indices) -> Array:
        """The points with all their coordinates, (n, d).

        Args:
            positions: of the listed coordinates, row after row, different within a row.
        """
        table = np.repeat(self.rest[:, None], self.d, axis=1)
        table[self.rows, positions] = self.values
        return table

    def positions(self, generator: np.random.Generator) -> Indices:
        """Places for the listed coordinates, uniform among all: what the symmetry leaves open.

        Args:
            generator: of the draw.
        """
        rows = [generator.choice(self.d, size=int(count), replace=False) for count in self.support]
        return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)


def draw_points(code: SparseCode, n: int, *, generator: np.random.Generator) -> SparsePoints:
    r"""Draw codes :math:`w^*_j z_j` by their support: O(n k) numbers at every D.

    Args:
        code: the law of z; symmetric, so that the signs of w* change nothing.
        n: how many.
        generator: of the draw.

    >>> from karat.data.sparse_code import SparseCode
    >>> points = draw_points(SparseCode(k=900, D=10**8), 3, generator=np.random.default_rng(0))
    >>> len(points), points.d, points.support.tolist()
    (3, 100000000, [122, 136, 135])
    """
    require_integer(n, "n", "draw_points", minimum=1)
    edges = np.cumsum(code.probability.numpy())
    count = generator.binomial(code.D, min(float(edges[-1]), 1.0), n)
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    values = generator.random(int(offsets[-1]))
    place(values, edges, code.size.numpy(), code.small_spread, values)
    return SparsePoints(code.D, values, offsets, np.zeros(n))
