"""Figures of what robust interpolation costs: shattered clusters and the smallest nets."""

import math
from collections.abc import Sequence

import numpy as np

from karat.papers.convergence.checks.capacity import CapacityRun, ShatteringRun
from karat.papers.convergence.experiments.capacity import CAPACITY
from karat.papers.convergence.experiments.shattering import SHATTERING
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped, pivot


def draw_capacity(runs: Sequence[CapacityRun]) -> list[Picture]:
    """Parameters of the smallest nets that interpolate, and that provably interpolate robustly.

    Ref: convergence, Thm 6.1
    """
    solved = [run for run in runs if run.result.parameters is not None]
    if not solved:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for index, (share, cells) in enumerate(sorted(grouped(solved, lambda run: run.config.share).items())):
        d, table = pivot(cells, lambda run: run.config.d, lambda run: run.result.parameters or math.nan)
        label = "ordinary" if share == 0 else f"robust, certified, {share:g} of half the distance"
        draw_series(ax, d, table, label, color=PALETTE[index], marker="osD"[index % 3], band=False)
        for row in table:
            ax.plot(d, row, linestyle="", marker=".", markersize=5, color=PALETTE[index], alpha=0.5)
    d = np.array(sorted({float(run.config.d) for run in solved}))
    n = solved[0].result.n
    ax.plot(d, n * d, color=INK, linestyle=":", linewidth=1.2, label="n d")
    ax.axhline(n, color=INK, linestyle="--", linewidth=0.9, label="n")
    plain_ticks(ax, list(d))
    round_ticks(ax)
    finish(ax, x="dimension d", y="parameters of the smallest net found")
    caption = (
        f"{n} spread-out points with random labels; two-layer ReLU nets with biases. Robust interpolation "
        "counts only when every ball is certified. Upper bounds found by an optimiser; dots are the point "
        "sets, lines their mean."
    )
    return [Picture("What robust interpolation costs", caption, figure)]


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
        f"{config.clusters} clusters of d points, {config.labellings} random labellings each: every "
        "label's points must fit into one ball of radius tau, balls of different labels lie on their sides "
        "of the plane, and centres stay more than 2 tau apart."
    )
    return [Picture("Shattered clusters", caption, figure)]


def _dimension(run: ShatteringRun) -> float:
    return run.config.d


FIGURES = (Drawing(CAPACITY, draw_capacity), Drawing(SHATTERING, draw_shattering))
