"""Records of a sweep over two settings as tables, with gaps where nothing is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from karat.study.record import Record

Setting = Callable[[Mapping[str, Any]], float]
Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Grid:
    """Records over x (columns) and y (rows), one layer per seed.

    Args:
        x, y: (c,), (r,) increasing values of the settings.
        cells: (seed, row, column) -> finished record.
        seeds: the seeds of the finished records.
        lost: (r, c) diverged or failed records.
    """

    x: np.ndarray
    y: np.ndarray
    cells: dict[tuple[int, int, int], Record]
    seeds: tuple[int, ...]
    lost: np.ndarray

    def table(self, name: str) -> np.ndarray:
        """One value as (seeds, r, c), NaN where it was not measured."""
        found = np.full((len(self.seeds), len(self.y), len(self.x)), np.nan)
        for (seed, row, column), record in self.cells.items():
            value = record.values.get(name)
            if value is not None:
                found[self.seeds.index(seed), row, column] = value
        return found

    def count(self) -> np.ndarray:
        """Finished records per cell, (r, c)."""
        counts = np.zeros((len(self.y), len(self.x)), dtype=int)
        for _, row, column in self.cells:
            counts[row, column] += 1
        return counts


def read_grid(records: Sequence[Record], x: Setting, y: Setting) -> Grid:
    """Place records by two settings; the first record of a cell and seed counts."""
    xs = sorted({x(record.config) for record in records})
    ys = sorted({y(record.config) for record in records})
    lost = np.zeros((len(ys), len(xs)), dtype=int)
    cells: dict[tuple[int, int, int], Record] = {}
    for record in records:
        row, column = ys.index(y(record.config)), xs.index(x(record.config))
        if record.status == "done":
            cells.setdefault((record.seed, row, column), record)
        else:
            lost[row, column] += 1
    seeds = tuple(sorted({seed for seed, _, _ in cells}))
    return Grid(np.array(xs, dtype=float), np.array(ys, dtype=float), cells, seeds, lost)


def mean_over_seeds(table: np.ndarray) -> np.ndarray:
    """Mean over the first axis of the values that are known, NaN where none is.

    >>> mean_over_seeds(np.array([[1.0, np.nan], [3.0, np.nan]]))
    array([ 2., nan])
    """
    known = np.isfinite(table)
    count = known.sum(axis=0)
    total = np.where(known, table, 0.0).sum(axis=0)
    return np.asarray(total / np.where(count > 0, count, np.nan))


def standard_error(table: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis, NaN where fewer than two values are known."""
    known = np.isfinite(table)
    count = known.sum(axis=0)
    spread = np.where(known, table - mean_over_seeds(table), 0.0)
    variance = (spread**2).sum(axis=0) / np.where(count > 1, count - 1, np.nan)
    return np.asarray(np.sqrt(variance / count.clip(1)))


def axis_scale(values: np.ndarray) -> Scale:
    """The scale on which the values lie most evenly, so that cells around them have alike sizes.

    Reading: two values lie evenly on every scale; a logarithmic one is taken when they differ by a factor
        of 2.5, where linear cells would begin near 0.

    >>> axis_scale(np.array([1.0, 2.0, 3.0])), axis_scale(np.array([1000.0, 2000.0, 8000.0]))
    ('linear', 'log')
    """
    if len(values) < 2 or values[0] <= 0:
        return "linear"
    if len(values) == 2:
        return "log" if values[1] > 2.5 * values[0] else "linear"
    even, logarithmic = np.diff(values), np.diff(np.log(values))
    linear = even.max() / even.min() <= logarithmic.max() / logarithmic.min()
    return "linear" if linear else "log"


def cell_edges(values: np.ndarray, scale: Scale) -> np.ndarray:
    """Ends of the cells around increasing values: midpoints on the scale, mirrored at the outer ones.

    >>> cell_edges(np.array([1.0, 2.0, 4.0]), "linear")
    array([0.5, 1.5, 3. , 5. ])
    """
    points = np.log(values) if scale == "log" else values
    if len(points) == 1:
        half = 0.5 if scale == "log" else 0.5 * abs(points[0]) or 0.5
        ends = np.array([points[0] - half, points[0] + half])
    else:
        middle = (points[1:] + points[:-1]) / 2
        ends = np.concatenate([[2 * points[0] - middle[0]], middle, [2 * points[-1] - middle[-1]]])
    return np.asarray(np.exp(ends) if scale == "log" else ends)


def inside_cells(edges: np.ndarray, scale: Scale, share: float) -> np.ndarray:
    """Points at the same share of every cell, on its scale.

    >>> inside_cells(np.array([0.0, 4.0, 8.0]), "linear", 0.25)
    array([1., 5.])
    """
    ends = np.log(edges) if scale == "log" else edges
    points = (1 - share) * ends[:-1] + share * ends[1:]
    return np.asarray(np.exp(points) if scale == "log" else points)


def seeds_text(counts: np.ndarray, what: str = "cell") -> str:
    """How many seeds stand behind each cell.

    >>> seeds_text(np.array([3, 3])), seeds_text(np.array([1, 2]))
    ('3 seeds', '1 to 2 seeds per cell')
    """
    known = counts[counts > 0]
    low, high = int(known.min()), int(known.max())
    if low == high:
        return "one seed" if low == 1 else f"{low} seeds"
    return f"{low} to {high} seeds per {what}"
