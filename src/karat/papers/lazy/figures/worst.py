"""The worst nets of the lazy ball against the theorem."""

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from matplotlib.axes import Axes

from karat.papers.lazy.checks.worst import WorstRun
from karat.papers.lazy.experiments.worst import WINDOW, WORST, WorstConfig, WorstResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks, seeds_note
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot

Value = Callable[[WorstRun], float]


def draw_worst(runs: Runs[WorstConfig, WorstResult]) -> list[Picture]:
    """Draw the longest flip that an adversary over the weights enforces, against the sharp formula.

    Ref: lazy, Thm 3.1
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.5)
    by_ball = dict(sorted(grouped(runs, lambda run: run.config.C0).items()))
    _draw_flips(ax, by_ball)
    plain_ticks(ax, sorted({run.config.d for run in runs}))
    finish(ax, x="input dimension d", y="flip length along the gradient", title="Longest flip of the ball")
    ax.legend(frameon=False, fontsize=7.5, loc="lower left")
    round_ticks(ax)
    widths = {run.config.m for run in runs}
    width = f"m = {widths.pop()}" if len(widths) == 1 else "m = d^2.4, the window's lower end"
    caption = (
        f"Adversary over all W with rows within C0/sqrt(m) of W0, at inputs fixed before W0; {width}. "
        "Medians over inputs. Dashed: |f| + C0/2 sqrt(1 + T^2) = T |P grad f|, about C0/sqrt(2 d). "
        f"{seeds_note(runs)}"
    )
    return [Picture("The worst nets of the lazy ball", caption, figure)]


def _over_dimensions(cells: Sequence[WorstRun], value: Value) -> tuple[np.ndarray, np.ndarray]:
    return pivot(cells, lambda run: run.config.d, value)


def _draw_flips(ax: Axes, by_ball: dict[float, list[WorstRun]]) -> None:
    """Flip lengths of the worst nets and of the start; crosses where the median is beyond |x| = 1."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    for index, (C0, cells) in enumerate(by_ball.items()):
        color = PALETTE[index]
        d, worst = _over_dimensions(cells, lambda run: median(run.result.worst))
        _, sharp = _over_dimensions(cells, lambda run: median(run.result.sharp))
        short = np.where(worst <= 1, worst, np.nan)
        finite = np.where(np.isfinite(sharp), sharp, np.nan)
        name = f"sharp formula, C0 = {C0:g}"
        draw_series(ax, d, short, f"worst net, C0 = {C0:g}", color=color)
        draw_series(ax, d, finite, name, color=color, line="--", marker="", band=False)
        if index == 0:
            _, start = _over_dimensions(cells, lambda run: median(run.result.at_start))
            draw_series(ax, d, start, "the start W0", color=INK, line=":", marker="", band=False)
        never = d[np.isnan(short).any(axis=0)]
        note = "median never flips within |x| = 1" if len(never) else None
        ax.plot(never, np.full(len(never), 1.25), linestyle="", marker="x", color=color, label=note)
    ax.axhline(1.0, color=FAINT, linewidth=1.0)
    # Room for the legend below the lines.
    low, high = ax.get_ylim()
    ax.set_ylim(low / (high / low) ** 0.7, high)


FIGURES = (Drawing(WORST, draw_worst), Drawing(WINDOW, draw_worst))
