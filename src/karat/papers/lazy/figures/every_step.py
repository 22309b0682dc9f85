"""The theorem's step, certified for every net of the lazy ball."""

import math

import numpy as np

from karat.core.statistics import clopper_pearson
from karat.papers.lazy.checks.worst import P_FAIL
from karat.papers.lazy.experiments.every_step import EVERY_STEP, EveryStepConfig, EveryStepResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot


def draw_every_step(runs: Runs[EveryStepConfig, EveryStepResult]) -> list[Picture]:
    """Draw the share of starts whose whole ball one step provably flips, and the gradients it may have.

    Ref: lazy, Thm 3.1
    """
    if not runs:
        return []
    figure, (left, right) = new_figure(2, width=4.2, height=3.1)
    for ax in (left, right):
        ax.set_xscale("log")
        plain_ticks(ax, sorted({run.config.d for run in runs}))
    for d, cells in sorted(grouped(runs, lambda run: run.config.d).items()):
        flags = [flag for run in cells for flag in run.result.certified]
        interval, share = clopper_pearson(sum(flags), len(flags), 0.95), np.mean(flags)
        bar = [[share - interval.low], [interval.high - share]]
        left.errorbar([d], [share], yerr=bar, fmt="o", color=PALETTE[0], capsize=3, markersize=4)
    left.axhline(1 - P_FAIL, color=INK, linestyle=":", linewidth=1.1, label=f"{1 - P_FAIL:g} (theorem)")
    left.set_ylim(0, 1.03)
    finish(left, x="input dimension d", y="share of starts", title="Share with a certificate")
    left.legend(frameon=False, fontsize=8, loc="lower left")
    sizes, table = pivot(
        runs, lambda run: run.config.d, lambda run: min(run.result.gradient) / math.sqrt(run.config.d / 2)
    )
    draw_series(right, sizes, table, "certified for every net", color=PALETTE[0])
    right.axhline(1, color=INK, linestyle=":", linewidth=1.1, label=r"start, $\sqrt{d/2}$")
    right.set_ylim(0, 1.1)
    finish(right, x="input dimension d", y=r"$|\nabla f|/\sqrt{d/2}$", title="Smallest gradient of the ball")
    right.legend(frameon=False, fontsize=8, loc="lower left")
    config = runs[0].config
    caption = (
        f"Gaussian starts in law, m = d^2.4, the ball C0 = {config.C0:g}, steps of size C2/|grad f|^2 with "
        f"C2 = {config.C2:g}. Left: 95 % intervals of the share. Right: smallest of the starts of a cell."
    )
    return [Picture("One gradient step against every net of the lazy ball", caption, figure)]


FIGURES = (Drawing(EVERY_STEP, draw_every_step),)
