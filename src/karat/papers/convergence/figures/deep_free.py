"""Figure of deep nets without the projection: the gap over the steps."""

from collections.abc import Sequence

import numpy as np

from karat.papers.convergence.checks.deep_free import FreeRun
from karat.papers.convergence.experiments.deep_free import FREE
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped


def draw_free(runs: Sequence[FreeRun]) -> list[Picture]:
    """Smallest gap so far without a projection, and where projected training ends, for every depth.

    Ref: convergence, Sec 7
    """
    if not runs:
        return []
    m = max(run.config.m for run in runs)
    widest = [run for run in runs if run.config.m == m]
    figure, (ax,) = new_figure(1, width=5.4, height=3.2)
    for index, (depth, cells) in enumerate(sorted(grouped(widest, lambda run: run.config.depth).items())):
        color = PALETTE[index % 7]
        curve = np.array([run.result.curve for run in cells])
        share = np.linspace(0, 1, curve.shape[1])
        draw_series(ax, share, curve, f"H = {depth}, {cells[0].config.steps} steps", color=color, marker="")
        projected = np.mean([run.result.projected for run in cells])
        ax.plot([1.03 + 0.03 * index], [projected], linestyle="", marker="s", markersize=5, color=color)
    ax.plot(
        [], [], linestyle="", marker="s", markersize=5, color=INK, label="with the projection, at the end"
    )
    config = widest[0].config
    ax.axhline(config.tol, color=INK, linestyle="--", linewidth=1.0, label=f"tol = {config.tol:g}")
    ax.axhline(0, color=INK, linestyle=":", linewidth=0.8, label="minimum, linearised")
    finish(ax, x="share of the steps", y=r"$\min_t L_A$ less the minimum", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        f"Deep ReLU nets of width {m} from the printed start, lr = {config.step:g}/(m H^2), R = "
        f"{config.R:g}. The minimum is that of the linearised problem in the ball of every layer. "
        f"{seeds_note(widest)}"
    )
    return [Picture("Deep nets without the projection", caption, figure)]


FIGURES = (Drawing(FREE, draw_free),)
