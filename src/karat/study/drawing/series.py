"""Curves over a setting with bands over seeds, straight from records, and guides for power laws."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from karat.study.curves import HasSeed
from karat.study.drawing.style import INK, PALETTE, mean_and_half_width


def draw_series(
    ax: Axes,
    x: np.ndarray,
    table: np.ndarray,
    label: str | None,
    *,
    color: str = PALETTE[0],
    line: str = "-",
    marker: str = "o",
    fill: bool = True,
    band: bool = True,
    level: float = 0.95,
) -> None:
    """Mean over seeds with markers, and its Student band; logarithms are averaged on a logarithmic axis.

    Args:
        ax: panel to draw in.
        x: (g,).
        table: (seeds, g), NaN and inf left out.
        label: of the legend.
        color: of line, markers and band.
        line: style of the line.
        marker: shape of the markers.
        fill: solid or hollow markers.
        band: whether the interval is drawn.
        level: of the interval.
    """
    logarithmic = ax.get_yscale() == "log"
    values = np.where(np.isfinite(table) & ((table > 0) | (not logarithmic)), table, np.nan)
    mean, half = mean_and_half_width(np.log(values) if logarithmic else values, level)
    middle, low, high = (np.exp(v) if logarithmic else v for v in (mean, mean - half, mean + half))
    ax.plot(
        x,
        middle,
        label=label,
        color=color,
        linestyle=line,
        linewidth=1.6,
        marker=marker,
        markersize=4,
        markerfacecolor=color if fill else "white",
    )
    if band:
        # The band of a few seeds can be wider than the panel: the seeds themselves bound what is drawn.
        known = np.isfinite(values)
        least = np.where(known, values, np.inf).min(axis=0)
        most = np.where(known, values, -np.inf).max(axis=0)
        some = known.any(axis=0)
        room = np.where(some, most, 0.0) - np.where(some, least, 0.0)
        low, high = np.maximum(low, least - room), np.minimum(high, most + room)
        ax.fill_between(x, low, high, color=color, alpha=0.16, linewidth=0)


def power_guide(ax: Axes, x: np.ndarray, anchor: tuple[float, float], exponent: float, label: str) -> None:
    """A dotted power law through a point.

    Args:
        ax: panel to draw in.
        x: (g,) the law is drawn from the smallest to the largest of them.
        anchor: (x, y) of the point.
        exponent: of the law.
        label: of the legend.
    """
    span = np.array([x.min(), x.max()], dtype=float)
    ax.plot(
        span,
        anchor[1] * (span / anchor[0]) ** exponent,
        color=INK,
        linewidth=1.1,
        linestyle=":",
        label=label,
    )


def plain_ticks(ax: Axes, ticks: Sequence[float]) -> None:
    """The given ticks of a logarithmic axis as plain numbers, and no others."""
    ax.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def round_ticks(ax: Axes, which: Literal["x", "y"] = "y", *, most: int = 6) -> None:
    """Plain round numbers on a logarithmic axis whose own labels would be too few or overlap.

    Args:
        ax: panel whose limits are set.
        which: the axis that gets them.
        most: largest number of ticks.
    """
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    for steps in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{step * power:.3g}") for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            break
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_minor_locator(NullLocator())


def seeds_note(records: Sequence[HasSeed]) -> str:
    """How many seeds the lines average."""
    count = len({record.seed for record in records})
    return (
        f"Mean over {count} seeds, bands its 95 % interval, cut at twice the seeds' range."
        if count > 1
        else "One seed."
    )
