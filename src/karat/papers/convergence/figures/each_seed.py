"""Curves of single seeds: a mean would say little where data sets differ by more than a factor."""

import numpy as np
from matplotlib.axes import Axes


def draw_each_seed(
    ax: Axes,
    x: np.ndarray,
    table: np.ndarray,
    label: str,
    *,
    color: str,
    line: str = "-",
    marker: str = "o",
    fill: bool = True,
) -> None:
    """Draw one thin line per seed, all under one name.

    Args:
        ax: panel to draw in.
        x: (g,).
        table: (seeds, g), NaN left out.
        label: of the legend.
        color: of lines and markers.
        line: style of the lines.
        marker: shape of the markers.
        fill: solid or hollow markers.
    """
    for index, row in enumerate(table):
        ax.plot(
            x,
            row,
            label=label if index == 0 else None,
            color=color,
            linestyle=line,
            linewidth=1.0,
            marker=marker,
            markersize=4,
            markerfacecolor=color if fill else "none",
        )
