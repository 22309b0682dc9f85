"""Robust accuracy as the paper's maps: over dimension and radius, and over width and movement."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.trained import TrainedRun, robust_accuracy
from karat.study.drawing.picture import Picture
from karat.study.drawing.series import plain_ticks, round_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped

COLORS = "cividis"
"""Monotone in lightness, and the same to eyes that confuse red and green."""


class Place(NamedTuple):
    """A point of the map.

    Args:
        x: dimension or width.
        y: radius or movement.
        accuracy: mean over seeds.
    """

    x: float
    y: float
    accuracy: float


def radius_map(runs: Sequence[TrainedRun]) -> Picture:
    """Draw robust accuracy over the plane of dimension and radius, with the line 5/sqrt d.

    Args:
        runs: of several dimensions and radii.

    Ref: lazy, Fig 4
    """
    places = _places(runs, lambda run: (run.config.d, run.config.tau))
    figure, ax = _draw(places, CONSTANTS["radius"], r"$5/\sqrt{d}$ (paper)")
    finish(ax, x="input dimension d", y=r"radius $\tau$")
    config = runs[0].config
    caption = f"m = {config.m}, C0 = {config.C0:g}. {_note(runs)}"
    return Picture("Robust accuracy over dimension and radius", caption, figure)


def movement_map(runs: Sequence[TrainedRun]) -> Picture:
    """Draw robust accuracy over the plane of width and movement, with the line 25/sqrt m.

    Args:
        runs: of several widths and balls.

    Ref: lazy, Fig 4
    """
    places = _places(runs, lambda run: (run.config.m, run.config.C0 / math.sqrt(run.config.m)))
    figure, ax = _draw(places, CONSTANTS["movement"], r"$25/\sqrt{m}$ (paper)")
    finish(ax, x="width m", y="movement allowed V")
    config = runs[0].config
    caption = f"d = {config.d}, radius {config.tau:.2g}. {_note(runs)}"
    return Picture("Robust accuracy over width and movement", caption, figure)


def _places(runs: Sequence[TrainedRun], at: Callable[[TrainedRun], tuple[float, float]]) -> list[Place]:
    """The settings that were run, each with its mean over seeds."""
    return [
        Place(*where, sum(map(robust_accuracy, cells)) / len(cells))
        for where, cells in sorted(grouped(runs, at).items())
    ]


def _draw(places: Sequence[Place], constant: float, name: str) -> tuple[Figure, Axes]:
    """The settings as squares, what lies between them interpolated, and the printed line constant/sqrt x."""
    figure, (ax,) = new_figure(1, width=5.2, height=3.4)
    x, y, accuracy = np.array(places).T
    ax.set_xscale("log")
    ax.set_yscale("log")
    if len(set(x)) > 1 and len(set(y)) > 1:
        # Triangles of the logarithms: those of the numbers would all be slivers.
        triangles = Triangulation(np.log(x), np.log(y)).triangles
        mesh = Triangulation(x, y, triangles)
        ax.tricontourf(mesh, accuracy, levels=np.linspace(0, 1, 21), cmap=COLORS)
    squares = ax.scatter(x, y, c=accuracy, cmap=COLORS, vmin=0, vmax=1, marker="s", s=34, edgecolors="white")
    ends = np.array([x.min(), x.max()])
    ax.plot(ends, constant / np.sqrt(ends), color=PALETTE[1], linestyle="--", linewidth=1.6, label=name)
    ax.use_sticky_edges = False  # contours reach to the edge, the squares beyond it
    ax.margins(0.04)
    plain_ticks(ax, sorted(set(x)))
    round_ticks(ax)
    bar = figure.colorbar(squares, ax=ax, fraction=0.05, pad=0.02)
    bar.set_label("robust test accuracy", color=INK, fontsize=8)
    bar.ax.tick_params(labelsize=7, colors=INK)
    return figure, ax


def _note(runs: Sequence[TrainedRun]) -> str:
    """What stands in the map."""
    seeds = len({run.seed for run in runs})
    return f"Squares: settings that were run, means over {seeds} seeds by PGD; between them interpolated."
