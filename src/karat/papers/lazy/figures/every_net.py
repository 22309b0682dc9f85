"""Robust error that no net of the lazy ball can avoid."""

import numpy as np

from karat.papers.lazy.checks.corollary import LEAST_ERROR, errors_by_radius
from karat.papers.lazy.experiments.every_net import EVERY_NET, EveryNetConfig, EveryNetResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped


def draw_every_net(runs: Runs[EveryNetConfig, EveryNetResult]) -> list[Picture]:
    """Draw the share of images at which no net of the ball is robust, over the radius.

    Ref: lazy, Cor 3.2
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.0)
    for index, (d, cells) in enumerate(sorted(grouped(runs, lambda run: run.config.d).items())):
        radii = np.array(list(errors_by_radius(cells)))
        rows = [{c: float(np.mean(errors)) for c, errors in errors_by_radius([run]).items()} for run in cells]
        table = np.array([[row.get(c, np.nan) for c in radii] for row in rows])
        draw_series(ax, radii, table, f"d = {d}", color=PALETTE[index % 7])
    ax.axhline(LEAST_ERROR, color=INK, linestyle=":", linewidth=1.1, label=f"{LEAST_ERROR:g} (corollary)")
    ax.set_ylim(-0.03, 1.05)
    finish(ax, x=r"radius $\tau\sqrt{d}$", y="robust error of every net")
    config = runs[0].config
    caption = (
        f"Share of {config.n_test} digits at which the margin of all nets with rows within C0/sqrt(m) of the "
        f"start, C0 = {config.C0:g}, m = d^2.4, is certainly negative somewhere within the radius; mean over "
        f"{config.draws} starts. {seeds_note(runs)}"
    )
    return [Picture("Robust error that no net of the ball avoids", caption, figure)]


FIGURES = (Drawing(EVERY_NET, draw_every_net),)
