"""Figures of clean training over time, and of the winners that the theory expects over the dimension."""

import math

import numpy as np

from karat.papers.purification.experiments.clean_time import CLEAN_TIME, CleanTimeResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ticket_tails import TICKET_TAILS, TailsConfig, TailsResult
from karat.papers.purification.figures.drawings import table
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.run import Runs, by_setting


def draw_clean_time(runs: Runs[OddNetConfig, CleanTimeResult]) -> list[Picture]:
    """Accuracy on moved inputs, the mixture and the alignment with the start, against training time."""
    if not runs:
        return []
    figure, (moved, mixture, start) = new_figure(3, width=3.3)
    for index, group in enumerate(by_setting(runs)):
        config, first = group[0].config, group[0].result
        time = (np.array(first.time) / first.T_c).tolist()
        label = f"d = {config.d}, k = {config.k}"
        unit = config.d / config.k
        curve_with_band(moved, time, table(group, lambda r: r.universal).tolist(), label, index=index)
        means = (unit * table(group, lambda r: r.mean_beta)).tolist()
        curve_with_band(mixture, time, means, label, index=index)
        curve_with_band(start, time, table(group, lambda r: r.start_alignment).tolist(), label, index=index)
    for ax in (moved, mixture, start):
        ax.set_xscale("log")
        ax.axvline(1, color=INK, linestyle="--", linewidth=0.9)
    moved.set_ylim(0, 1)
    mixture.set_ylim(bottom=0)
    start.set_ylim(0, 1)
    finish(moved, x="time / $T_c$", y="accuracy", title="Along the universal direction", legend=False)
    finish(mixture, x="time / $T_c$", y="mean $\\beta_{ij}$ in $k/d$", title="Mixture")
    finish(start, x="time / $T_c$", y="alignment with the start", title="Leaving the start", legend=False)
    caption = (
        f"Clean training from random weights, {len(by_setting(runs)[0])} seeds. Dashed: T_c, from which on "
        "the theorems speak. Middle: mean over all neurons and features off the tickets of the start."
    )
    return [Picture("Clean training over time", caption, figure)]


def draw_tails(runs: Runs[TailsConfig, TailsResult]) -> list[Picture]:
    """Expected sure winners of a feature over the dimension, and how many all features having one takes."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=5.6)
    scale = 1 / math.log(10)
    for index, run in enumerate(runs):
        result, color = run.result, PALETTE[index % len(PALETTE)]
        label = f"$c_0$ = {run.config.c0:g}, $\\gamma$ = {run.config.gamma:g}"
        ax.plot(result.exponents, scale * np.array(result.log_sure), color=color, linewidth=1.6, label=label)
    needed = runs[0].result
    ax.plot(
        needed.exponents,
        scale * np.array(needed.log_needed),
        color=INK,
        linestyle="--",
        linewidth=1,
        label="$4 \\log d$",
    )
    finish(
        ax, x="$\\log_{10} d$", y="$\\log_{10}$ of the expected number", title="Sure winners of one feature"
    )
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        "Expected number of sure winners of one feature at a random start with m = d^(1 + c0) neurons, by "
        "exact Gaussian tails. Dashed: what each feature must expect for all of them to have one."
    )
    return [Picture("Sure winners against the dimension", caption, figure)]


FIGURES = (Drawing(CLEAN_TIME, draw_clean_time), Drawing(TICKET_TAILS, draw_tails))
