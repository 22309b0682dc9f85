"""Smallest flip, gradient and step of lazily trained nets against the dimension, and over the images."""

from typing import NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.flip_length import FIGURE_BALL, POWERS, FlipRun, at_ball
from karat.papers.lazy.experiments.flip_length import FIG2, FIG5, PADDING, FlipLengthResult, Quantity
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, power_guide, round_ticks, seeds_note
from karat.study.drawing.style import PALETTE, finish, new_figure
from karat.study.run import Runs, pivot

FlipRuns = Runs[LazyTrainingConfig, FlipLengthResult]


class Label(NamedTuple):
    """How a quantity and its power of d are written.

    Args:
        axis: name of the axis.
        law: the power, as the legend shows it.
    """

    axis: str
    law: str


LABELS: dict[Quantity, Label] = {
    "perturbation": Label(r"smallest flip $|\delta|/|x|$", r"$d^{-1/2}$"),
    "gradient": Label(r"gradient $|\nabla_x f|$", r"$d^{1/2}$"),
    "step": Label(r"step $\eta$", r"$d^{-1}$"),
}
TICKS = (25, 49, 100, 196, 256, 400, 784, 1600, 3136)


def draw_flips(runs: FlipRuns) -> list[Picture]:
    """Draw smallest flip, gradient and step against d, one line per width and ball.

    Ref: lazy, Fig 2; lazy, Fig 5
    """
    if not runs:
        return []
    figure, axes = new_figure(3, width=3.4, height=3.1)
    lines = sorted({(run.config.m, C0) for run in runs for C0 in run.result.C0})
    one_width = len({m for m, _ in lines}) == 1
    for ax, (quantity, label) in zip(axes, LABELS.items(), strict=True):
        ax.set_xscale("log")
        ax.set_yscale("log")
        for index, (m, C0) in enumerate(lines):
            cells = [run for run in runs if run.config.m == m and C0 in run.result.C0]
            d, table = pivot(cells, lambda run: run.config.d, at_ball(quantity, C0))
            name = f"C0 = {C0:g}" if one_width else f"m = {m:,}, C0 = {C0:g}"
            draw_series(ax, d, table, name, color=PALETTE[index % 7], marker="osD^v"[index % 5])
            if index == 0:
                power_guide(ax, d, (d[-1], float(np.nanmean(table[:, -1]))), POWERS[quantity], label.law)
        plain_ticks(ax, [d for d in TICKS if d in {run.config.d for run in runs}])
        round_ticks(ax)
        finish(ax, x="input dimension d", y=label.axis, legend=ax is axes[0])
    caption = (
        f"{_data(runs[0].config)}; the last net inside each ball C0/sqrt(m). Dotted: the paper's power "
        f"through the largest d of the first line. {seeds_note(runs)}"
    )
    return [Picture("Smallest flip along the gradient", caption, figure), _histograms(runs)]


def _data(config: LazyTrainingConfig) -> str:
    """What the nets were trained on."""
    inputs = "raw pixels, first-layer bias" if config.scaling == "raw" else "unit-length inputs, no bias"
    padded = f", {config.padded_from} x {config.padded_from} images zero-padded" if config.padded_from else ""
    return f"Digits {config.classes[0]} and {config.classes[1]}, {inputs}{padded}"


def _histograms(runs: FlipRuns) -> Picture:
    """The three quantities over the test images at the largest dimension, widest net, smallest ball."""

    def size(run: FlipRun) -> tuple[int, int, int]:
        return run.config.d, run.config.m, -run.seed  # the first seed of the largest size

    largest = max(runs, key=size)
    figure, axes = new_figure(3, width=3.0, height=2.4)
    for ax, (quantity, label) in zip(axes, LABELS.items(), strict=True):
        shape = largest.result.histograms[0][quantity]
        widths = np.diff(shape.edges)
        ax.bar(shape.edges[:-1], shape.counts, width=widths, align="edge", color=PALETTE[0], alpha=0.75)
        # The median is NaN if no prediction flips, which draws no line.
        ax.axvline(shape.median, color=PALETTE[1], linewidth=1.4, label=f"median {shape.median:.3g}")
        ax.xaxis.set_major_locator(MaxNLocator(4))
        finish(ax, x=label.axis, y="test images")
        ax.set_ylim(top=ax.get_ylim()[1] * 1.25)
    config = largest.config
    caption = (
        f"{_data(config)}; one net, d = {config.d}, m = {config.m:,}, C0 = {largest.result.C0[0]:g}, seed "
        f"{largest.seed}.{_printed_step(largest)}"
    )
    return Picture("Flip, gradient and step over the test images", caption, figure)


def _printed_step(run: FlipRun) -> str:
    """What the paper reports of this histogram, where it is one of the paper's: Figure 7."""
    config = run.config
    if config.scaling != "unit" or config.padded_from or config.d != 784 or run.result.C0[0] != FIGURE_BALL:
        return ""
    width = "" if config.m == 100_000 else " at m = 100,000"
    return f" The paper reports{width} a Gaussian shape, and steps around {CONSTANTS['step']:g}."


FIGURES = tuple(Drawing(experiment, draw_flips) for experiment in (FIG5, FIG2, PADDING))
