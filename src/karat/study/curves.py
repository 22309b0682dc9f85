"""Runs as curves over one setting, a row per seed, and where such curves cross a height."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from karat.core.statistics import crossing_point
from karat.study.judging.common import Undecided


class HasSeed(Protocol):
    """A record or a run."""

    @property
    def seed(self) -> int:
        """Of its cell."""
        ...


T = TypeVar("T", bound=HasSeed)


def curves(
    runs: Sequence[T], axis: Callable[[T], float], value: Callable[[T], float]
) -> tuple[list[float], list[list[float]]]:
    """Return the sorted values of the axis and one curve per seed; seeds that miss a point are left out.

    Args:
        runs: of several seeds and points.
        axis: what a curve runs over.
        value: what it shows.
    """
    table: dict[int, dict[float, float]] = {}
    for run in runs:
        table.setdefault(run.seed, {})[axis(run)] = value(run)
    x = sorted({point for row in table.values() for point in row})
    return x, [[row[point] for point in x] for row in table.values() if set(row) == set(x)]


def crossings(
    runs: Sequence[T],
    row: Callable[[T], float],
    column: Callable[[T], float],
    value: Callable[[T], float],
    height: float,
    *,
    rising: bool,
) -> tuple[list[float], list[list[float]]]:
    """Return where `value` crosses a height along `column`, for every `row`, one curve of crossings per seed.

    A row in which some seed never crosses, or crosses the wrong way, leaves the question open: without it the
    other rows might tell another story.

    Args:
        runs: of a grid.
        row: for each of which there is one crossing.
        column: along which it crosses.
        value: what crosses.
        height: that it crosses.
        rising: whether it crosses upwards.
    """
    rows, crossed = sorted({row(run) for run in runs}), {}
    for at in rows:
        x, table = curves([run for run in runs if row(run) == at], column, value)
        try:
            crossed[at] = [
                crossing_point(np.log(x), curve, height, rising=rising).value
                for curve in map(np.array, table)
            ]
        except ValueError as error:
            way = "upwards" if rising else "downwards"
            raise Undecided(f"at {at:g} not every seed crosses {height:g} {way} on this grid.") from error
    per_seed = zip(*crossed.values(), strict=True)
    return list(crossed), [[math.exp(value) for value in seed] for seed in per_seed]
