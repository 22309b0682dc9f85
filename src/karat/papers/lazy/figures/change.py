"""The change of the gradient within a radius of 1/sqrt d: what was found, and what no net exceeds."""

import numpy as np

from karat.papers.lazy.experiments.change import CHANGE, ChangeConfig, ChangeResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, pivot


def draw_change(runs: Runs[ChangeConfig, ChangeResult]) -> list[Picture]:
    """Draw the change over d from below and from above, beside the size sqrt(d/2) of the gradient itself.

    Ref: lazy, Lem 4.4
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    curves = (
        ("W0, found by ascent", lambda run: run.result.at_start, PALETTE[0], "o", "-"),
        ("rows on their kink, found by ascent", lambda run: run.result.on_kink, PALETTE[1], "s", "-"),
        ("certified for every net", lambda run: run.result.ceiling, PALETTE[2], "^", "--"),
    )
    for name, value, color, marker, line in curves:
        d, table = pivot(runs, lambda run: run.config.d, value)
        draw_series(ax, d, table, name, color=color, marker=marker, line=line)
    ax.plot(d, np.sqrt(d / 2), color=INK, linestyle=":", linewidth=1.1, label=r"gradient, $\sqrt{d/2}$")
    plain_ticks(ax, d.tolist())
    finish(ax, x="input dimension d", y="largest change of the gradient", legend=False)
    round_ticks(ax)
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    config = runs[0].config
    caption = (
        f"Within a radius of {config.C1:g}/√d of {config.points} inputs, C0 = {config.C0:g}, m = d^2.4. The "
        f"lemma asks for a change of smaller order than the gradient. {seeds_note(runs)}"
    )
    return [Picture("Change of the gradient within the radius", caption, figure)]


FIGURES = (Drawing(CHANGE, draw_change),)
