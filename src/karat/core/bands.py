r"""Confidence bands: intervals for a whole curve that are right at all its points at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from karat.core.sequential import anytime_t_factors


@dataclass(frozen=True)
class Band:
    r"""A mean curve with ends that cover the true curve everywhere with probability `level`.

    Args:
        mean: (g,) over seeds.
        low: (g,) lower ends.
        high: (g,) upper ends.
        level: probability that no point of the true curve lies outside.
    """

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float = 0.95


def simultaneous_band(
    curves: Sequence[Sequence[float]] | np.ndarray, level: float = 0.95, *, anytime: bool = False
) -> Band:
    r"""Return Student intervals at :math:`1 - (1 - \text{level})/g` of each of the :math:`g` points.

    Reading: Bonferroni's correction is right whatever the dependence between points, and with three to ten
        seeds there is nothing to estimate that dependence from.

    Args:
        curves: (seeds, g) one curve per seed, two seeds at least.
        level: of the whole band.
        anytime: whether the band must be right at every number of seeds, because more may be added.

    >>> band = simultaneous_band([[0.0, 1.0], [0.2, 1.2], [0.1, 1.1]])
    >>> band.mean[0] < band.high[0] < 1.0 > band.low[1]
    True
    """
    table = np.asarray(curves, dtype=float)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 1:
        raise ValueError(f"`curves` must have shape (seeds, points), two seeds at least; got {table.shape}.")
    if not np.isfinite(table).all():
        raise ValueError("`curves` must hold finite numbers.")
    if not 0 < level < 1:
        raise ValueError(f"`level` of `simultaneous_band` must be strictly between 0 and 1, got {level}.")
    seeds, points = table.shape
    mean = table.mean(axis=0)
    each = 1 - (1 - level) / points
    if anytime:
        factor = anytime_t_factors(np.array([seeds]), each)[0]
    else:
        factor = special.stdtrit(seeds - 1, (1 + each) / 2) / np.sqrt(seeds)
    half = np.full(points, np.inf) if np.isinf(factor) else factor * table.std(axis=0, ddof=1)
    return Band(tuple(mean.tolist()), tuple((mean - half).tolist()), tuple((mean + half).tolist()), level)
