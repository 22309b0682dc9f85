"""What probability costs in step size, drawn and by the formula of wide nets."""

import numpy as np

from karat.papers.lazy.bounds_in_law import withstanding_share
from karat.papers.lazy.experiments.step_size import STEP_SIZE, StepSizeConfig, StepSizeResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series
from karat.study.drawing.style import PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot


def draw_step_size(runs: Runs[StepSizeConfig, StepSizeResult]) -> list[Picture]:
    """Draw the share of starts that withstand over C2, a curve of the formula for every ball.

    Ref: lazy, Thm 3.1
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.4, height=3.0)
    largest = max(run.config.C2 for run in runs) + 0.5
    for index, (C0, cells) in enumerate(sorted(grouped(runs, lambda run: run.config.C0).items())):
        sizes = np.linspace(C0 / 2, largest, 200)
        color = PALETTE[index % len(PALETTE)]
        ax.plot(sizes, [withstanding_share(C0, C2) for C2 in sizes], color=color, linewidth=1.2)
        C2, table = pivot(cells, lambda run: run.config.C2, lambda run: run.result.withstood)
        draw_series(ax, C2, table, f"C0 = {C0:g}", color=color, line="", band=False)
    ax.set_yscale("log")
    ax.set_ylim(1e-3, 1.3)
    finish(ax, x="step size C2", y="share of starts that withstand", legend=True)
    config = runs[0].config
    caption = (
        "Share of starts on which the net of the ball whose rows all turn towards x keeps its sign after "
        f"one gradient step of size C2/|∇f|²: draws in law, d = {config.d:.0e}, m = {config.m:,}, and the "
        f"formula for wide nets (lines). {len({run.seed for run in runs})} seeds together."
    )
    return [Picture("What probability costs in step size", caption, figure)]


FIGURES = (Drawing(STEP_SIZE, draw_step_size),)
