"""The measured boundary of a map: where accuracy is halfway, row by row, and power laws drawn beside it."""

from dataclasses import dataclass

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes

from karat.core.statistics import Estimate, crossing_point

HALO: list[patheffects.AbstractPathEffect] = [patheffects.withStroke(linewidth=3.2, foreground="white")]
GUIDE = "#D55E00"


@dataclass(frozen=True)
class Boundary:
    """The measured boundary.

    Args:
        points: (y, x* with its interval) of the rows that have a crossing.
        without: the y of those that have none.
    """

    points: tuple[tuple[float, Estimate], ...]
    without: tuple[float, ...]

    @property
    def anchor(self) -> tuple[float, float] | None:
        """(x*, y) of the middle row with a crossing, through which power laws are drawn."""
        if not self.points:
            return None
        y, crossing = self.points[len(self.points) // 2]
        return crossing.value, y


def find_boundary(x: np.ndarray, y: np.ndarray, accuracy: np.ndarray, level: float) -> Boundary:
    """Interpolate every row's crossing on the probit scale; mean and interval over seeds.

    Reading: a row uses the columns that were measured and the seeds that have all of them; a row in which
        a seed never crosses has no crossing.

    Args:
        x: (c,) values of the columns.
        y: (r,) values of the rows.
        accuracy: (seeds, r, c) with NaN for unknown values.
        level: to cross.
    """
    points, without = [], []
    for row, at in enumerate(y):
        curves = accuracy[:, row]
        columns = np.isfinite(curves).any(axis=0)
        complete = np.isfinite(curves[:, columns]).all(axis=1)
        try:
            crossing = crossing_point(x[columns], curves[complete][:, columns], level, transform="probit")
        except ValueError:
            without.append(float(at))
            continue
        points.append((float(at), crossing))
    return Boundary(tuple(points), tuple(without))


def mark_boundary(ax: Axes, boundary: Boundary, label: str) -> None:
    """Draw crossings as points with horizontal bars; an infinite interval (one seed) gets no bar.

    Args:
        ax: a map.
        boundary: what to draw.
        label: of the legend.
    """
    if not boundary.points:
        return
    ys = [y for y, _ in boundary.points]
    xs = [crossing.value for _, crossing in boundary.points]
    ends = [(c.value - c.interval.low, c.interval.high - c.value) for _, c in boundary.points]
    bars = np.where(np.isfinite(ends), ends, 0.0).T
    lines = ax.errorbar(
        xs,
        ys,
        xerr=bars,
        fmt="o-",
        color="black",
        markerfacecolor="white",
        markersize=4.5,
        linewidth=1.3,
        capsize=2,
        label=label,
        zorder=6,
    )
    # A white rim keeps lines and bars visible on dark cells.
    for line in (lines.lines[0], *lines.lines[2]):
        line.set_path_effects(HALO)


def mark_power_law(ax: Axes, anchor: tuple[float, float], exponent: float, label: str, style: str) -> None:
    r"""Draw :math:`y \propto x^p` through a point, within the axes as they are.

    Args:
        ax: a map.
        anchor: (x, y) of the point.
        exponent: p.
        label: of the legend.
        style: of the line.
    """
    low, high = ax.get_xlim()
    x = np.geomspace(max(low, high / 1e3), high, 200)
    y = anchor[1] * (x / anchor[0]) ** exponent
    limits = ax.get_ylim()
    inside = (y >= limits[0]) & (y <= limits[1])
    ax.plot(
        x[inside],
        y[inside],
        color=GUIDE,
        linestyle=style,
        linewidth=1.7,
        label=label,
        path_effects=HALO,
        zorder=5,
    )
