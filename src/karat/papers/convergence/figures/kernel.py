"""Figures of the tangent kernel's space: degrees, and the norm of robust functions."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.checks.kernel import KernelRun
from karat.papers.convergence.checks.robust_function import RobustRun
from karat.papers.convergence.experiments.kernel import KERNEL
from karat.papers.convergence.experiments.robust_function import ROBUST
from karat.papers.convergence.figures.each_seed import draw_each_seed
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import plain_ticks, round_ticks
from karat.study.drawing.style import PALETTE, finish, new_figure
from karat.study.run import grouped, pivot

_VANISHED = 1e-9
"""An eigenvalue this small is zero up to rounding: the kernel does not hold its degree."""

_AXES = {"tol": "tol", "tau": "radius of the caps", "d": "dimension"}
"""Settings that are varied, and their names on the axes."""


def draw_degrees(runs: Sequence[KernelRun]) -> list[Picture]:
    """The kernels' weights by degree.

    Ref: convergence, Fn 14
    """
    if not runs:
        return []
    d = runs[0].config.d
    figure, (ax,) = new_figure(1, width=5.0, height=3.1)
    ax.set_yscale("log")
    same_d = [run for run in runs if run.config.d == d]
    by_activation = sorted(grouped(same_d, lambda run: run.config.activation).items())
    for index, (activation, cells) in enumerate(by_activation):
        _draw_weights(ax, cells[0].result.degrees, activation.replace("_", " "), index)
    ax.set_ylim(1e-9, 5)
    finish(ax, x="degree", y="eigenvalue")
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    caption = (
        f"Eigenvalues of tangent kernels on the sphere of R^{d}. Crosses at the bottom: degrees whose "
        "eigenvalue is zero up to rounding, and whose functions the kernel does not hold."
    )
    return [Picture("Degrees of the tangent kernels", caption, figure)]


def _draw_weights(ax: Axes, eigenvalues: Sequence[float], name: str, index: int) -> None:
    """Eigenvalues by degree, and crosses below them where a degree is missing."""
    weights = np.abs(np.array(eigenvalues))
    degrees = np.arange(len(weights))
    color = PALETTE[index % 7]
    present = np.where(weights > _VANISHED, weights, np.nan)
    ax.plot(degrees, present, linestyle="", marker="osD^v"[index % 5], color=color, label=name)
    missing = degrees[weights <= _VANISHED]
    # A row of its own for every kernel: crosses must not hide each other.
    height = np.full(len(missing), 10 ** (-7.4 - 0.4 * index))
    ax.plot(missing, height, linestyle="", marker="x", color=color)


def draw_norms(runs: Sequence[RobustRun]) -> list[Picture]:
    """The smallest norm of a robust function, from below and above, against tol, radius and dimension.

    Ref: convergence, Asm 5.2
    """
    apart = [run for run in runs if run.config.data == "apart"]
    if not apart:
        return []
    base = {name: Counter(getattr(run.config, name) for run in apart).most_common(1)[0][0] for name in _AXES}
    figure, panels = new_figure(len(_AXES), width=2.9, height=2.9)
    for panel, (name, label) in zip(panels, _AXES.items(), strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        rest = [other for other in _AXES if other != name]
        cells = [run for run in apart if all(getattr(run.config, other) == base[other] for other in rest)]
        _draw_bracket(panel, cells, name)
        finish(panel, x=label, y="smallest norm R" if panel is panels[0] else "", legend=panel is panels[0])
    bottom = min(panel.get_ylim()[0] for panel in panels)
    top = max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(bottom, top)
        round_ticks(panel)
    settings = ", ".join(f"{_AXES[name]} {value:g}" for name, value in base.items())
    caption = (
        "Functions of the smoothed ReLU's tangent kernel that stay within tol of the labels on "
        f"{apart[0].config.n} caps; one setting is varied at a time from {settings}. One line per data set."
    )
    return [Picture("The norm of robust functions", caption, figure)]


def _draw_bracket(ax: Axes, cells: Sequence[RobustRun], name: str) -> None:
    """Norms of certified functions and the lower bounds on all norms."""

    def key(run: RobustRun) -> float:
        return float(getattr(run.config, name))

    x, high = pivot(cells, key, _certified_norm)
    _, low = pivot(cells, key, lambda run: run.result.norm_bound)
    draw_each_seed(ax, x, high, "certified function", color=PALETTE[0], marker=".")
    draw_each_seed(ax, x, low, "lower bound", color=PALETTE[1], line="--", marker="s", fill=False)
    plain_ticks(ax, list(x))


def _certified_norm(run: RobustRun) -> float:
    """The norm of the function, if it is certified to stay within tol."""
    return run.result.norm if run.result.certified_supremum <= run.config.tol else math.nan


FIGURES = (Drawing(KERNEL, draw_degrees), Drawing(ROBUST, draw_norms))
