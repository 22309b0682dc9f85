"""Lazy against convergence on one axis: is there a robust net in the ball around the start?"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.convergence.checks.vs_lazy import ZERO_FUNCTION_LOSS
from karat.papers.convergence.checks.vs_lazy_runs import VsLazyRun
from karat.papers.convergence.experiments.vs_lazy import VS_LAZY
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, power_guide, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.run import pivot

_STARTS = {"paired": (PALETTE[0], "paired start"), "gaussian": (PALETTE[1], "unpaired start")}


def draw_vs_lazy(runs: Sequence[VsLazyRun]) -> list[Picture]:
    """Enclosures of the best robust loss in both balls, robust accuracy, and the flip radius against d.

    Ref: convergence, vs-lazy
    """
    images = [run for run in runs if run.config.padded_from is None]
    if not images:
        return []
    figure = Figure(figsize=(9.6, 7.4), layout="constrained")
    axes = figure.subplots(2, 2)
    _draw_row_ball(axes[0, 0], [run for run in images if run.config.ball == "rows"])
    _draw_accuracies(axes[0, 1], images)
    _draw_frobenius_ball(axes[1, 0], [run for run in images if run.config.ball == "frobenius"])
    _draw_flip_radius(axes[1, 1], [run for run in runs if run.config.padded_from is not None])
    config = images[0].config
    d = config.side**2
    caption = (
        f"Digits 0 and 1 of length 1, d = {d}, m = {config.m}, n = {config.n} training points, attack "
        f"radius tau = {config.tau:g}, which is {config.tau * math.sqrt(d):.1f} over the root of d, on the "
        "sphere. Top left and bottom left: the best robust training loss of ALL nets in the ball lies in "
        "the shaded band, between the loss of a net that was found (line) and a certified lower bound (its "
        "lower edge; a convex problem plus the largest gain that switching neurons can bring). Dashed "
        "blue: convergence's prediction, a kernel function with margin 1 scaled into the ball; dashed "
        "orange: lazy's obstruction with its sharp constant, the best margin C0/2 - tau sqrt(d/2) that an "
        "unpaired ball allows at one input. Above log 2 no net of the ball is robust on all training "
        "points. Bottom right: the same data zero-padded, so that only the network's d grows. "
        f"{seeds_note(runs)}"
    )
    return [Picture("Does a robust net exist near the start?", caption, figure)]


def _radius(run: VsLazyRun) -> float:
    return run.config.C0


def _dimension(run: VsLazyRun) -> float:
    return run.config.side**2


def _doubling_ticks(ax: Axes, runs: Sequence[VsLazyRun]) -> None:
    radii = [_radius(run) for run in runs]
    ticks = [2.0**k for k in range(-2, 8) if min(radii) <= 2.0**k <= max(radii)]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _draw_enclosures(ax: Axes, runs: Sequence[VsLazyRun]) -> None:
    """Bands between certified bound and found loss, with the predictions of both papers."""
    ax.set_xscale("log", base=2)
    for start, (color, label) in _STARTS.items():
        cells = [run for run in runs if run.config.start == start]
        if not cells:
            continue
        C0, loss = pivot(cells, _radius, lambda run: run.result.loss)
        _, bound = pivot(cells, _radius, lambda run: run.result.bound)
        found, certified = np.nanmean(loss, axis=0), np.nanmean(bound, axis=0)
        draw_series(ax, C0, loss, f"{label}: found", color=color, band=False)
        ax.fill_between(C0, certified, found, color=color, alpha=0.22, linewidth=0)
        ax.plot(C0, certified, color=color, linewidth=0.8)
        # Each paper speaks of its own start.
        if start == "paired":
            text = "convergence's prediction"
            _, predicted = pivot(cells, _radius, lambda run: run.result.convergence_loss)
        else:
            text = "lazy's obstruction"
            _, predicted = pivot(cells, _radius, lambda run: run.result.lazy_loss)
        ax.plot(C0, np.nanmean(predicted, axis=0), color=color, linestyle="--", linewidth=1.3, label=text)
    ax.axhline(ZERO_FUNCTION_LOSS, color=INK, linestyle=":", linewidth=1.1)
    ax.set_ylim(0, None)
    _doubling_ticks(ax, runs)


def _draw_row_ball(ax: Axes, runs: Sequence[VsLazyRun]) -> None:
    _draw_enclosures(ax, runs)
    config = runs[0].config
    threshold = config.tau * math.sqrt(2) * config.side
    top = ax.get_ylim()[1]
    ax.axvline(threshold, color=INK, linestyle="-.", linewidth=0.9)
    ax.text(threshold * 1.05, 0.58 * top, r"$\tau\sqrt{2d}$", fontsize=9, color=INK)
    ax.axvline(25, color=INK, linestyle=":", linewidth=0.9)
    ax.text(25.8, 0.3 * top, "25 (lazy, Fig 4)", fontsize=7.5, color=INK, rotation=90)
    note = "log 2: above it some point is wrong"
    ax.text(min(map(_radius, runs)), ZERO_FUNCTION_LOSS + 0.02 * top, note, fontsize=7.5, color=INK)
    finish(
        ax,
        x=r"radius $C_0$ of the (2, $\infty$) ball, rows within $C_0/\sqrt{m}$",
        y="best robust training loss",
        title="All nets of the (2, ∞) ball",
    )
    legend = ax.legend(fontsize=8, loc="upper right", framealpha=1.0, edgecolor="none", borderpad=0.3)
    legend.set_zorder(5)


def _draw_frobenius_ball(ax: Axes, runs: Sequence[VsLazyRun]) -> None:
    if not runs:
        ax.set_axis_off()
        return
    _draw_enclosures(ax, runs)
    finish(
        ax,
        x=r"radius $R$ of the Frobenius ball, which holds the (2, $\infty$) ball $C_0 = R$",
        y="best robust training loss",
        title="All nets of the Frobenius ball",
        legend=False,
    )


def _draw_accuracies(ax: Axes, runs: Sequence[VsLazyRun]) -> None:
    ax.set_xscale("log", base=2)
    for start, (color, label) in _STARTS.items():
        for ball, line, fill in (("rows", "-", True), ("frobenius", "--", False)):
            cells = [run for run in runs if run.config.start == start and run.config.ball == ball]
            if not cells:
                continue
            C0, accuracy = pivot(cells, _radius, lambda run: run.result.test_accuracy)
            shape = "(2, ∞)" if ball == "rows" else "Frobenius"
            draw_series(ax, C0, accuracy, f"{label}, {shape}", color=color, line=line, fill=fill, band=fill)
    ax.set_ylim(-0.04, 1.04)
    _doubling_ticks(ax, runs)
    finish(ax, x=r"radius $C_0$ or $R$", y="robust test accuracy (PGD)", title="The best net found")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(0.0, 0.6))


def _draw_flip_radius(ax: Axes, runs: Sequence[VsLazyRun]) -> None:
    if not runs:
        ax.set_axis_off()
        return
    config = runs[0].config
    ax.set_xscale("log")
    ax.set_yscale("log")
    for start, (color, label) in _STARTS.items():
        cells = [run for run in runs if run.config.start == start]
        d, flip_radius = pivot(cells, _dimension, lambda run: run.result.flip_radius or np.nan)
        draw_series(ax, d, flip_radius, label, color=color)
        _, local = pivot(cells, _dimension, lambda run: run.result.flip_ratio)
        draw_series(ax, d, local, f"{label}: |f|/|grad f|", color=color, line=":", marker="", band=False)
        if start == "gaussian":
            anchor = (d[0], 0.8 * float(np.nanmean(flip_radius[:, 0])))
            power_guide(ax, d, anchor, -0.5, r"$d^{-1/2}$ (lazy)")
    ax.axhline(config.tau, color=INK, linewidth=0.9, linestyle="-.", label=r"attack radius $\tau$")
    ticks = sorted(set(map(_dimension, runs)))
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    low, high = ax.get_ylim()
    levels = [level for level in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0) if low <= level <= high]
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.minorticks_off()
    finish(
        ax,
        x="network's input dimension d (same data, zero-padded)",
        y="median smallest flip radius",
        title=rf"Flip radius at $C_0$ = {config.C0:g}",
    )
    ax.legend(frameon=False, fontsize=8, loc="lower left")


FIGURES = (Drawing(VS_LAZY, draw_vs_lazy),)
