"""Suprema over balls that shrink at other speeds, and the change of the start's gradient over d."""

from karat.papers.lazy.checks.gradient import rms_change, start_formula
from karat.papers.lazy.checks.larger_balls import mean_supremum
from karat.papers.lazy.experiments.one_point import (
    LARGER_BALLS,
    SHORT_DELTAS,
    OnePointConfig,
    OnePointResult,
)
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, power_guide, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot

OnePointRuns = Runs[OnePointConfig, OnePointResult]


def draw_larger_balls(runs: OnePointRuns) -> list[Picture]:
    """Draw the supremum of |f| over the ball against the width, one line per speed of its radius.

    Ref: lazy, Sec 3
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    by_power = sorted(grouped(runs, lambda run: run.config.power).items(), reverse=True)
    for index, (power, cells) in enumerate(by_power):
        m, table = pivot(cells, lambda run: run.config.m, mean_supremum)
        draw_series(ax, m, table, f"V = C0/m^{power:g}", color=PALETTE[index], marker="osD"[index % 3])
        law = rf"$m^{{{0.5 - power:.2g}}}$"
        power_guide(ax, m, (m[-1], float(table[:, -1].mean())), 0.5 - power, law)
    round_ticks(ax)
    finish(ax, x="width m", y="sup |f| over the ball")
    config = runs[0].config
    caption = (
        f"At one unit x, C0 = {config.C0:g}; mean over {config.draws} starts. Dotted: the power of sqrt(m) V "
        f"through the largest m. {seeds_note(runs)}"
    )
    return [Picture("Suprema over balls of several speeds", caption, figure)]


def draw_short_deltas(runs: OnePointRuns) -> list[Picture]:
    """Draw the change of the start's gradient along one short delta against the dimension.

    Ref: lazy, Sec 4.3
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    d, table = pivot(runs, lambda run: run.config.d, rms_change)
    draw_series(ax, d, table, "root mean square", color=PALETTE[0])
    _, formula = pivot(runs, lambda run: run.config.d, lambda run: start_formula(run.config))
    ax.plot(
        d, formula[0], color=INK, linestyle="--", linewidth=1.3, label=r"$(R \sqrt{\log d})^{1/4}$ (paper)"
    )
    power_guide(ax, d, (d[-1], float(table[:, -1].mean())), -0.25, r"$d^{-1/4}$")
    round_ticks(ax)
    finish(ax, x="input dimension d", y="change of the gradient along delta")
    config = runs[0].config
    caption = (
        f"m = {config.m:,}, R = {config.C1:g}/sqrt(d), delta across x; {config.draws} starts a cell. "
        f"{seeds_note(runs)}"
    )
    return [Picture("Change of the start's gradient", caption, figure)]


FIGURES = (Drawing(LARGER_BALLS, draw_larger_balls), Drawing(SHORT_DELTAS, draw_short_deltas))
