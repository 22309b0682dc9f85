"""What a sweep will cost: a power law in its axes, fitted to the cells computed so far, with its doubt."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.study.experiment import Cell
from karat.study.record import Record

LEVEL = 0.9
_DRAWS = 400
_SLOPE, _SLOPE_DOUBT, _KIND_DOUBT, _FIRST_DOUBT = 1.0, 1.0, 0.7, 30.0
_NOISE, _NOISE_WEIGHT = 0.2, 4.0
_MOST = 400
_LEAST_SECONDS = 1e-4

Axes = Mapping[str, Sequence[Any]]
"""Setting -> the values it takes in a sweep, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """CPU seconds of the cells still to be computed, with an interval that covers 90 % of what may come.

    Args:
        cells: how many are to be computed.
        seconds: of CPU time they will take, in the median.
        low: lower end of the interval.
        high: upper end of the interval.
        measured: configs whose cost is known.
    """

    cells: int
    seconds: float
    low: float
    high: float
    measured: int


def calibration(cells: Sequence[Cell], axes: Axes) -> list[Cell]:
    """Return few cells of a sweep that show what it costs: its first config, and one per end of an axis.

    The first config comes twice where there are two seeds, for the first cell of a process pays for loading
    and compiling.
    """
    by_config = {tuple(map(repr, _point(cell.config_json, axes))): cell for cell in cells if cell.seed == 0}
    first = {name: values[0] for name, values in axes.items()}
    corners = [first, *({**first, name: values[-1]} for name, values in axes.items())]
    points = [tuple(map(repr, _point(point, axes))) for point in corners]
    chosen = [by_config[point] for point in dict.fromkeys(points) if point in by_config]
    if chosen and any(cell.seed == 1 for cell in cells):
        chosen.insert(1, chosen[0].with_seed(1))
    return chosen


class CostModel:
    """Bayesian regression of log seconds on the logs of the axes.

        log seconds = a + sum_j b_j log axis_j + noise,   b_j ~ N(1, 1)

    An axis that is not all positive numbers gets one offset N(0, 0.7^2) per value instead of a slope. Of the
    seeds of a config the lower median counts, for it is free of the start-up of a process.

    Args:
        axes: of the sweep.
        records: of its cells, at least one.
    """

    def __init__(self, axes: Axes, records: Sequence[Record]) -> None:
        self._axes = axes
        configs: dict[str, list[Record]] = {}
        for record in records:
            if record.finished:
                configs.setdefault(record.config_hash, []).append(record)
        groups = list(configs.values())
        groups = groups[:: max(1, len(groups) // _MOST)]
        self.measured = len(groups)
        seconds = [sorted(r.cpu_seconds for r in group)[(len(group) - 1) // 2] for group in groups]
        logs = np.log(np.maximum(seconds, _LEAST_SECONDS))
        rows = np.array([self._features(group[0].config) for group in groups]).reshape(len(groups), -1)
        self._draw(rows, logs)

    def seconds(self, config: Mapping[str, Any]) -> float:
        """Expected CPU seconds of one cell of a config (JSON)."""
        return float(np.median(np.exp(self._coefficients @ self._features(config))) * self._lift)

    def estimate(self, configs: Mapping[str, Mapping[str, Any]], cells: Mapping[str, int]) -> Estimate:
        """Return the cost of so many cells of each config.

        Args:
            configs: config hash -> JSON.
            cells: config hash -> how many of its cells are to be computed.
        """
        counts = np.array([float(cells[key]) for key in configs])
        features = np.array([self._features(config) for config in configs.values()])
        rows = np.exp(features.reshape(len(counts), -1) @ self._coefficients.T)
        totals = (counts @ rows) * self._lift
        low, high = np.quantile(totals, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Estimate(
            cells=int(counts.sum()),
            seconds=float(np.median(totals)),  # the mean of a doubtful power law is all tail
            low=float(low),
            high=float(high),
            measured=self.measured,
        )

    def _draw(self, rows: np.ndarray, logs: np.ndarray) -> None:
        """Draw coefficients from the posterior, the noise being known up to an inverse-gamma law."""
        doubt = self._doubt / _NOISE  # in units of the noise
        precision = np.diag(1 / doubt**2) + rows.T @ rows
        right = self._guess / doubt**2 + rows.T @ logs
        mean = np.linalg.solve(precision, right)
        misfit = logs @ logs + self._guess @ (self._guess / doubt**2) - mean @ precision @ mean
        weight = _NOISE_WEIGHT + len(logs)
        generator = np.random.default_rng(0)
        scale = np.sqrt((_NOISE_WEIGHT * _NOISE**2 + max(misfit, 0.0)) / generator.chisquare(weight, _DRAWS))
        root = np.linalg.cholesky(np.linalg.inv(precision))
        noise = generator.standard_normal((_DRAWS, len(mean))) @ root.T
        self._coefficients = mean + scale[:, None] * noise
        # The mean of a lognormal lies above its median.
        self._lift = math.exp(float((scale**2).mean()) / 2)

    @property
    def _guess(self) -> np.ndarray:
        parts = [[0.0], *([_SLOPE] if _powers(values) else [0.0] * len(values) for values in self._varied)]
        return np.concatenate(parts)

    @property
    def _doubt(self) -> np.ndarray:
        parts = [
            [_FIRST_DOUBT],
            *([_SLOPE_DOUBT] if _powers(v) else [_KIND_DOUBT] * len(v) for v in self._varied),
        ]
        return np.concatenate(parts)

    @property
    def _varied(self) -> list[Sequence[Any]]:
        return list(self._axes.values())

    def _features(self, config: Mapping[str, Any]) -> np.ndarray:
        parts = [[1.0]]
        for name, values in self._axes.items():
            if _powers(values):
                parts.append([math.log(config[name] / values[0])])
            else:
                parts.append([float(config[name] == value) for value in values])
        return np.concatenate(parts)


def _powers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in values)


def _point(config: Mapping[str, Any], axes: Axes) -> list[Any]:
    return [config[name] for name in axes]
