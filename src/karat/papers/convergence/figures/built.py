"""Figures of the net of the proof: its distance from a function of known norm, and its robust loss."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.checks.built import BuiltRun, FeaturesRun
from karat.papers.convergence.experiments.built import BUILT
from karat.papers.convergence.experiments.random_features import FEATURES
from karat.papers.convergence.figures.each_seed import draw_each_seed
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import plain_ticks, round_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import by_setting, pivot


def draw_features(runs: Sequence[FeaturesRun]) -> list[Picture]:
    """Distances of random features from a section of the kernel, with their bounds, setting by setting.

    Ref: convergence, Prop C.1
    """
    if not runs:
        return []
    settings = sorted(by_setting(runs), key=lambda cells: (cells[0].config.d, cells[0].config.m))
    figure, (ax,) = new_figure(1, width=5.6, height=3.4)
    ax.set_yscale("log")
    for position, cells in enumerate(settings):
        _draw_setting(ax, position, cells)
    size = runs[0].result.size
    ax.axhline(size, color=INK, linewidth=1.0, linestyle=":", label="sup |g|, distance of the zero function")
    names = [f"d = {cells[0].config.d}\nm = {cells[0].config.m}" for cells in settings]
    ax.set_xticks(range(len(names)), names)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.4)
    finish(ax, x="", y="uniform distance from g", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)
    caption = (
        "M = m/2 random features for a section g of the smoothed ReLU's tangent kernel. Certified "
        "distances hold on all of the sphere, and exist in three dimensions only; those found are lower "
        "bounds."
    )
    return [Picture("Random features for a function of norm 1", caption, figure)]


def _draw_setting(ax: Axes, position: int, cells: Sequence[FeaturesRun]) -> None:
    """Dots for all draws, found and certified, and a bar at the bound."""
    label = {"found": "found", "certified": "certified", "bound": "bound"} if position == 0 else {}
    found = [value for run in cells for value in run.result.features_error]
    certified = [value for run in cells for value in run.result.features_certified if np.isfinite(value)]
    ax.plot(
        [position - 0.12] * len(found),
        found,
        linestyle="",
        marker=".",
        color=PALETTE[0],
        label=label.get("found"),
    )
    ax.plot(
        [position + 0.12] * len(certified),
        certified,
        linestyle="",
        marker="^",
        markersize=4,
        markerfacecolor="none",
        color=PALETTE[1],
        label=label.get("certified"),
    )
    bound = cells[0].result.features_bound
    ax.plot(
        [position - 0.3, position + 0.3], [bound, bound], color=INK, linewidth=2, label=label.get("bound")
    )


def draw_built(runs: Sequence[BuiltRun]) -> list[Picture]:
    """The built net's robust loss, and how far from its start it lies.

    Ref: convergence, Thm 5.2
    """
    if not runs:
        return []
    config = runs[0].config
    figure, (left, right) = new_figure(2, width=4.0, height=3.0)
    m, on_grid = pivot(runs, _width, lambda run: run.result.robust_loss)
    _, certified = pivot(runs, _width, lambda run: run.result.certified_loss)
    draw_each_seed(left, m, on_grid, "on a grid", color=PALETTE[0])
    draw_each_seed(left, m, certified, "certified over the caps", color=PALETTE[1], line="--", marker="s")
    left.axhline(config.tol, color=INK, linestyle=":", linewidth=1.1, label="tol")
    left.set_ylim(0, 1.3 * left.get_ylim()[1])
    _, radius = pivot(runs, _width, lambda run: run.result.frobenius)
    _, largest = pivot(runs, _width, lambda run: run.result.random_feature_norm)
    _, kernel = pivot(runs, _width, lambda run: run.result.kernel_norm)
    right.set_yscale("log")
    draw_each_seed(right, m, largest, r"$|g|_{RF}$, radius of the proof", color=PALETTE[2], marker="^")
    draw_each_seed(right, m, radius, r"$\|W - W_0\|$", color=PALETTE[0])
    draw_each_seed(
        right,
        m,
        kernel,
        "norm of g in the kernel's space",
        color=PALETTE[1],
        line="--",
        marker="s",
        fill=False,
    )
    low, high = right.get_ylim()
    right.set_ylim(low, high * (high / low) ** 0.45)
    round_ticks(right)
    for ax in (left, right):
        ax.set_xscale("log")
        plain_ticks(ax, sorted({run.config.m for run in runs}))
    finish(left, x="width m", y="robust loss", title="Robustness", legend=False)
    finish(right, x="width m", y="length", title="Distance from the start", legend=False)
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8, loc="upper right")
    bound = np.mean([run.result.bound for run in runs if run.config.m == m[-1]])
    caption = (
        f"The network of the proof with corrected signs and factors, d = {config.d}. At m = {m[-1]:g} "
        f"bound (19) on its distance from a function with values near -1 and 1 is {bound:.2g}. "
        f"One line per data set."
    )
    return [Picture("The robust net of the proof, built", caption, figure)]


def _width(run: BuiltRun) -> float:
    return run.config.m


FIGURES = (Drawing(FEATURES, draw_features), Drawing(BUILT, draw_built))
