"""Figures of what robust interpolation costs: shattered clusters and nets that are built."""

from collections.abc import Sequence

from karat.papers.convergence.bounds_capacity import two_layer_parameters
from karat.papers.convergence.checks.capacity import ShatteringRun
from karat.papers.convergence.checks.interpolation import CapacityRun
from karat.papers.convergence.experiments.capacity import CAPACITY
from karat.papers.convergence.experiments.shattering import SHATTERING
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped, pivot


def draw_capacity(runs: Sequence[CapacityRun]) -> list[Picture]:
    """Parameters of nets that interpolate, and what robust interpolation takes at least and at most.

    Ref: convergence, Thm 6.1
    """
    solved = [run for run in runs if run.result.robust == 1 and run.result.interpolated == 1]
    if not solved:
        return []
    figure, (ax,) = new_figure(1, width=5.2, height=3.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    n = max(run.config.n for run in solved)
    solved = [run for run in solved if run.config.n == n]
    d, built = pivot(solved, _dimension, lambda run: _free(run, run.result.width))
    _, least = pivot(solved, _dimension, lambda run: _free(run, run.result.floor))
    _, line = pivot(solved, _dimension, lambda run: run.result.line_parameters)
    draw_series(ax, d, built, f"robust, built (width {n - 1})", color=PALETTE[0], band=False)
    draw_series(ax, d, least, "robust, at least", color=PALETTE[0], line="--", marker="s", band=False)
    ax.fill_between(d, least[0], built[0], color=PALETTE[0], alpha=0.12, linewidth=0)
    general = [run for run in solved if run.result.planes_interpolated == 1]
    if general:
        at, planes = pivot(general, _dimension, lambda run: _free(run, run.result.planes_width))
        draw_series(ax, at, planes, "interpolating, planes", color=PALETTE[2], marker="^", band=False)
    draw_series(ax, d, line, "interpolating, on a line", color=PALETTE[1], marker="D", band=False)
    ax.plot(d, n * d, color=INK, linestyle=":", linewidth=1.2, label="n d")
    plain_ticks(ax, list(d))
    round_ticks(ax)
    finish(ax, x="dimension d", y="parameters", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    config = solved[0].config
    caption = (
        f"{n} points, the middles of {n // 2} pairs of balls of radius tau that are {config.gap:g} of "
        f"2 tau/d apart and turned at random, {config.labellings * len(solved)} labellings in all. Every net "
        "drawn does what it was built for on all points or balls; nets of planes are left out where one of "
        "them meets both labels. "
        "Neurons of the net on a line share their direction, all others are free. Lower curve of the band: "
        f"narrower two-layer ReLU nets reach too few labellings for Theorem 6.1. {seeds_note(solved)}"
    )
    return [Picture("What robust interpolation costs", caption, figure)]


def _free(run: CapacityRun, width: int) -> int:
    return two_layer_parameters(width, run.config.d)


def draw_shattering(runs: Sequence[ShatteringRun]) -> list[Picture]:
    """Share of labellings that the construction shatters, with the corrected and the printed constant.

    Ref: convergence, Thm 6.1
    """
    if not runs:
        return []
    figure, (left, right) = new_figure(2, width=3.7, height=2.8)
    by_constant = grouped(runs, lambda run: run.config.printed)
    for index, printed in enumerate((False, True)):
        if printed in by_constant:
            d, table = pivot(by_constant[printed], _dimension, lambda run: run.result.shattered)
            label = "maximum, as printed" if printed else "minimum, corrected"
            draw_series(left, d, table, label, color=PALETTE[index], marker="os"[index])
    # The constant itself is the same for both.
    corrected = by_constant.get(False, [])
    d, ratio = pivot(corrected, _dimension, lambda run: run.result.ratio)
    _, measured = pivot(corrected, _dimension, lambda run: run.result.ratio_measured)
    for ax in (left, right):
        ax.set_xscale("log")
        plain_ticks(ax, list(d))
    right.set_yscale("log")
    closed_form = r"$\max_k \gamma_k$, closed form"
    draw_series(right, d, ratio, closed_form, color=INK, line=":", marker="", band=False)
    draw_series(right, d, measured, "smallest touching ball", color=PALETTE[2], band=False)
    round_ticks(right)
    left.set_ylim(-0.04, 1.3)
    finish(left, x="dimension d", y="share of labellings shattered", title="Construction")
    finish(right, x="dimension d", y="radius over offset", title="The constant")
    config = runs[0].config
    caption = (
        f"{config.clusters} clusters of d points, {config.labellings} random labellings each: every label's "
        "points must fit into one ball of radius tau, balls of different labels lie on their sides of the "
        "plane, and centres stay more than 2 tau apart."
    )
    return [Picture("Shattered clusters", caption, figure)]


def _dimension(run: CapacityRun | ShatteringRun) -> float:
    return run.config.d


FIGURES = (Drawing(CAPACITY, draw_capacity), Drawing(SHATTERING, draw_shattering))
