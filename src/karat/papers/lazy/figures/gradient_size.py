"""The smallest gradient of the ball, between what a net reaches and what is certified."""

from statistics import mean

import numpy as np

from karat.papers.lazy.experiments.gradient_size import (
    GRADIENT_SIZE,
    GradientSizeConfig,
    GradientSizeResult,
)
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import plain_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped


def draw_gradient_size(runs: Runs[GradientSizeConfig, GradientSizeResult]) -> list[Picture]:
    """Draw the bracket of the smallest gradient over sqrt d, one bar per size, beside that of the start.

    Ref: lazy, Lem 4.2
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=5.2, height=3.2)
    ax.set_xscale("log")
    balls = sorted({run.config.C0 for run in runs})
    for index, C0 in enumerate(balls):
        of_ball = [run for run in runs if run.config.C0 == C0]
        for d, cells in grouped(of_ball, lambda run: run.config.d).items():
            widest = max(run.config.m for run in cells)
            results = [run.result for run in cells if run.config.m == widest]
            low = mean(min(result.floor) for result in results)
            high = mean(min(result.smallest) for result in results)
            at = d * 1.06 ** (index - (len(balls) - 1) / 2)  # balls beside each other
            name = f"C0 = {C0:g}" if d == of_ball[0].config.d else None
            # Dots at both ends: a gradient that vanishes is a bar of no length.
            ends = np.array([low, high]) / d**0.5
            ax.plot([at, at], ends, color=PALETTE[index], linewidth=5, marker="o", markersize=5, label=name)
            start = mean(mean(result.at_start) for result in results) / d**0.5
            ax.plot(at, start, marker="_", markersize=11, color=INK, linestyle="")
    ax.axhline(0.5**0.5, color=INK, linestyle=":", linewidth=1.1, label=r"start, $\sqrt{d/2}$")
    ax.axhline(0.25, color=INK, linestyle="--", linewidth=1.1, label=r"lemma, $\sqrt{d}/4$")
    plain_ticks(ax, sorted({run.config.d for run in runs}))
    ax.set_ylim(-0.03, 1.15)
    finish(ax, x="input dimension d", y=r"$|\nabla f|/\sqrt{d}$", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)
    caption = (
        "Bars: the smallest gradient of the ball, from what is certified for every net to what one reaches; "
        "the least over starts. Strokes: W0. The widest nets of each dimension. "
        f"{seeds_note(runs).split(',')[0].rstrip('.')}."
    )
    return [Picture("Smallest gradient of the ball", caption, figure)]


FIGURES = (Drawing(GRADIENT_SIZE, draw_gradient_size),)
