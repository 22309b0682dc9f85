"""Runs of a sweep over two settings as tables, with gaps where nothing is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from karat.papers.benign.experiments.axes import Axis, TrainingConfig, axis_value
from karat.papers.benign.experiments.evaluation import ErrorKind, Evaluation
from karat.study.run import Run, pivot

C = TypeVar("C", bound=TrainingConfig)


@dataclass(frozen=True)
class ErrorGrid(Generic[C]):
    """Finished runs over a setting (columns) and the dimension (rows).

    Args:
        axis: the setting of the columns.
        x: (c,) its increasing values.
        y: (r,) increasing dimensions.
        runs: the finished runs.
        lost: (r, c) how many cells diverged or failed.
    """

    axis: Axis
    x: np.ndarray
    y: np.ndarray
    runs: Sequence[Run[C, Evaluation]]
    lost: np.ndarray

    def cell_of(self, config: C) -> tuple[int, int]:
        """Return the row and the column of a run.

        Args:
            config: of the run.
        """
        row = np.searchsorted(self.y, axis_value(config, "d"))
        column = np.searchsorted(self.x, axis_value(config, self.axis))
        return int(row), int(column)

    def table(self, value: Callable[[Evaluation], float | None]) -> np.ndarray:
        """Return one value as (seeds, r, c), NaN where it was not measured.

        Args:
            value: which.
        """
        shape = len(self.y), len(self.x)

        def number_of_cell(run: Run[C, Evaluation]) -> int:
            return int(np.ravel_multi_index(self.cell_of(run.config), shape))

        # Cells numbered row by row are one axis; those without any run stay NaN.
        known, rows = pivot(self.runs, number_of_cell, lambda run: or_nan(value(run.result)))
        table = np.full((len(rows), shape[0] * shape[1]), np.nan)
        table[:, known.astype(int)] = rows
        return table.reshape(-1, *shape)

    def test_error(self, kind: ErrorKind) -> np.ndarray:
        """Return the clean or the robust test error as (seeds, r, c).

        Args:
            kind: which.
        """
        return self.table(lambda result: result.test_error(kind))

    def count(self) -> np.ndarray:
        """Return the number of finished runs per cell, (r, c)."""
        return np.asarray(np.isfinite(self.table(lambda result: result.train_error)).sum(axis=0))


def read_grid(runs: Sequence[Run[C, Evaluation]], axis: Axis, lost: Sequence[C] = ()) -> ErrorGrid[C]:
    """Place runs by a setting and their dimension.

    Args:
        runs: the finished ones.
        axis: the setting.
        lost: configs of cells that diverged or failed, which have a cell on the map too.
    """
    configs = [*(run.config for run in runs), *lost]
    x = np.array(sorted({axis_value(config, axis) for config in configs}))
    y = np.array(sorted({axis_value(config, "d") for config in configs}))
    grid = ErrorGrid(axis, x, y, runs, np.zeros((len(y), len(x)), dtype=int))
    for config in lost:
        grid.lost[grid.cell_of(config)] += 1
    return grid


def or_nan(value: float | None) -> float:
    """Return a number, NaN for one that was not measured.

    Args:
        value: perhaps None.
    """
    return float("nan") if value is None else value


def mean_over_seeds(table: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis of the values that are known, NaN where none is.

    Args:
        table: (seeds, ...) with NaN for unknown values.

    >>> mean_over_seeds(np.array([[1.0, np.nan], [3.0, np.nan]]))
    array([ 2., nan])
    """
    known = np.isfinite(table)
    count = known.sum(axis=0)
    total = np.where(known, table, 0.0).sum(axis=0)
    return np.asarray(total / np.where(count > 0, count, np.nan))


def standard_error(table: np.ndarray) -> np.ndarray:
    """Return the standard error of that mean, NaN where fewer than two values are known.

    Args:
        table: (seeds, ...) with NaN for unknown values.
    """
    known = np.isfinite(table)
    count = known.sum(axis=0)
    spread = np.where(known, table - mean_over_seeds(table), 0.0)
    variance = (spread**2).sum(axis=0) / np.where(count > 1, count - 1, np.nan)
    return np.asarray(np.sqrt(variance / count.clip(1)))
