"""One heat map: cells of their true size, numbers in them, hatching where training is not finished."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from karat.papers.benign.experiments.axes import TrainingConfig
from karat.papers.benign.experiments.evaluation import ErrorKind
from karat.papers.benign.figures.grid import ErrorGrid
from karat.papers.benign.figures.heat_cells import axis_scale, cell_edges, inside_cells
from karat.study.drawing.style import INK

UNKNOWN = "#E8E8E8"
MOST_NUMBERS = 120
"""Cells up to which every one carries its number."""
TALL = 8
"""Rows up to which a cell has room for a number below its middle."""

C = TypeVar("C", bound=TrainingConfig)
Edges = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Heat:
    """What one panel shows.

    Args:
        title: of the panel.
        values: (r, c).
        colours: name of the colour map.
        low: value of its first colour.
        high: value of its last colour.
        always: numbers even where cells are small.
        kind: the accuracy that is shown, None for other quantities.
        level: the accuracy whose boundary is drawn over the cells.
    """

    title: str
    values: np.ndarray
    colours: str
    low: float
    high: float
    always: bool = False
    kind: ErrorKind | None = None
    level: float | None = None


@dataclass(frozen=True)
class Frame:
    """What all panels of a figure share.

    Args:
        x_label: name of the columns.
        y_label: name of the rows.
        hatched: (r, c) cells whose training is not finished.
    """

    x_label: str
    y_label: str
    hatched: np.ndarray


def draw_heat(ax: Axes, grid: ErrorGrid[C], heat: Heat, frame: Frame) -> None:
    """Draw the cells of a panel with a colour bar; unknown ones stay grey, lost ones carry a cross.

    Args:
        ax: the panel.
        grid: the sweep.
        heat: what to show of it.
        frame: what the panel shares with others.
    """
    scales = axis_scale(grid.x), axis_scale(grid.y)
    edges = cell_edges(grid.x, scales[0]), cell_edges(grid.y, scales[1])
    ax.set_xscale(scales[0])
    ax.set_yscale(scales[1])
    ax.set_facecolor(UNKNOWN)
    mesh = ax.pcolormesh(
        *edges,
        np.ma.masked_invalid(heat.values),
        cmap=heat.colours,
        vmin=heat.low,
        vmax=heat.high,
        edgecolors="white",
        linewidth=0.5,
    )
    ax.set_xlim(edges[0][0], edges[0][-1])
    ax.set_ylim(edges[1][0], edges[1][-1])
    _label_axes(ax, grid, heat.title, frame)
    bar = ax.figure.colorbar(mesh, ax=ax, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, colors=INK, length=2)
    heights = grid.y
    if heat.level is not None:
        _hatch(ax, edges, frame.hatched)
        bar.ax.axhline(heat.level, color="black", linewidth=1.2)
        if len(grid.y) <= TALL:  # tall cells keep their middle free for the boundary
            heights = inside_cells(edges[1], scales[1], 0.22)
    _write_numbers(ax, grid, heat, heights)


def _label_axes(ax: Axes, grid: ErrorGrid[C], title: str, frame: Frame) -> None:
    ax.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    ax.set_xlabel(frame.x_label, color=INK)
    ax.set_ylabel(frame.y_label, color=INK)
    for axis, values in ((ax.xaxis, grid.x), (ax.yaxis, grid.y)):
        ticks = values if len(values) <= 10 else values[:: int(np.ceil(len(values) / 9))]
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axis.set_ticks([], minor=True)
    ax.tick_params(colors=INK, labelsize=8, length=2)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _hatch(ax: Axes, edges: Edges, hatched: np.ndarray) -> None:
    for row, column in np.argwhere(hatched):
        (left, right), (bottom, top) = edges[0][column : column + 2], edges[1][row : row + 2]
        ax.add_patch(
            Rectangle(
                (left, bottom),
                right - left,
                top - bottom,
                fill=False,
                hatch="//",
                edgecolor=(1.0, 1.0, 1.0, 0.75),
                linewidth=0.0,
                zorder=3,
            )
        )


def _write_numbers(ax: Axes, grid: ErrorGrid[C], heat: Heat, heights: np.ndarray) -> None:
    """Write every number when there is room; crosses mark cells of which nothing but losses is known."""
    room = heat.values.size <= MOST_NUMBERS
    size = 6.5 if heat.values.size <= 64 else 5.2 if room else 4.2
    count = grid.count()
    for row, column in np.argwhere(np.isfinite(heat.values) | (count == 0)):
        value = float(heat.values[row, column])
        if np.isfinite(value) and (room or heat.always):
            text = short(value)
        elif count[row, column] == 0 and grid.lost[row, column]:
            text = "×"
        else:
            continue
        letters, ground = _colours(heat, value)
        ax.text(
            float(grid.x[column]),
            float(heights[row]),
            text,
            ha="center",
            va="center",
            fontsize=size,
            color=letters,
            zorder=7,
            # A rim in the colour of the cell keeps the number legible over lines and hatching.
            path_effects=[patheffects.withStroke(linewidth=1.8, foreground=ground)],
        )


def _colours(heat: Heat, value: float) -> tuple[str, tuple[float, ...] | str]:
    """Black or white letters, whichever reads better on the cell's colour, and that colour.

    The weights are those of perceived brightness: green counts most, blue least.
    """
    if not np.isfinite(value):
        return INK, UNKNOWN
    ground = colormaps[heat.colours](Normalize(heat.low, heat.high)(value))
    red, green, blue, _ = ground
    return ("black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "white"), ground


def short(value: float) -> str:
    """Return two decimals without the leading zero; an exact 0 is "0", a smaller number than shown is "<.01".

    Args:
        value: of a cell.

    >>> short(0.894), short(0.0), short(0.002), short(1.0), short(-0.2)
    ('.89', '0', '<.01', '1', '-.20')
    """
    if value == 0:
        return "0"
    if 0 < value < 0.005:
        return "<.01"
    if value == 1:
        return "1"
    return f"{value:.2f}".replace("0.", ".", 1)
