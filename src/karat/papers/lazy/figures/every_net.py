"""Radii at which one point defeats every net of the lazy ball, and the dimension from which on it does."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.lazy.bounds_in_law import defeated_share, defeating_dimension
from karat.papers.lazy.checks.corollary import EveryNetRun, radii_of
from karat.papers.lazy.checks.phase import PhaseRun
from karat.papers.lazy.experiments.every_net import EVERY_NET, EveryNetConfig, EveryNetResult
from karat.papers.lazy.experiments.phase import EDGE, PHASE, PhaseConfig, PhaseResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot


def draw_every_net(runs: Runs[EveryNetConfig, EveryNetResult]) -> list[Picture]:
    """Draw the share of starts whose whole ball one point defeats, over the radius, ball by ball.

    Ref: lazy, Cor 3.2
    """
    if not runs:
        return []
    balls = sorted({C0 for run in runs for C0 in run.config.C0})
    figure, axes = new_figure(len(balls), width=4.4, height=3.3)
    for ax, C0 in zip(axes, balls, strict=True):
        _draw_shares(ax, [run for run in runs if C0 in run.config.C0], C0)
    seeds = len({run.seed for run in runs})
    caption = (
        "Share of starts at which the largest margin of all nets with rows within C0/sqrt(m) of the start is "
        "negative at one point within the radius: no net of the ball is robust there. Gaussian starts in "
        f"law, m = d^2.4, draws of {seeds} seeds together. Dashed: the limit of wide nets."
    )
    return [Picture("Radius at which one point defeats every net of the ball", caption, figure)]


def _draw_shares(ax: Axes, runs: Sequence[EveryNetRun], C0: float) -> None:
    """Solid: starts that are defeated; dashed: the formula."""
    for index, (d, cells) in enumerate(sorted(grouped(runs, lambda run: run.config.d).items())):
        radii = np.array([radius for run in cells for radius in radii_of(run, C0)]) * math.sqrt(d)
        largest = min(max(4.0, 1.4 * C0), 0.89 * math.sqrt(d))
        c = np.linspace(0, largest, 120)
        color = PALETTE[index % 7]
        ax.plot(c, [(radii <= one).mean() for one in c], color=color, label=f"d = {d}", linewidth=1.4)
        formula = [defeated_share(d, C0, one / math.sqrt(d)) for one in c]
        ax.plot(c, formula, color=color, linestyle="--", linewidth=0.8)
    ax.set_ylim(-0.03, 1.05)
    finish(ax, x=r"radius $\tau\sqrt{d}$", y="share of starts", title=f"C0 = {C0:g}")


def draw_phase(runs: Runs[PhaseConfig, PhaseResult]) -> list[Picture]:
    """Draw the dimension at which one point defeats the ball on nine of ten starts, and the share seen there.

    Ref: lazy, Cor 3.2
    """
    if not runs:
        return []
    figure, (left, right) = new_figure(2, width=4.2, height=3.3)
    balls = np.geomspace(0.25, 32, 80)
    for index, tau in enumerate((0.2, 0.5, 0.8)):
        edge = [defeating_dimension(C0, tau, EDGE) for C0 in balls]
        left.plot(balls, edge, color=PALETTE[index], label=rf"$\tau$ = {tau:g}")
    points = sorted({(run.config.C0, run.config.d) for run in runs})
    left.plot(*zip(*points, strict=True), "o", color=INK, markersize=4, label="drawn")
    left.set_xscale("log")
    left.set_yscale("log")
    finish(left, x="ball C0", y="dimension d*", title="Dimension from which 9 of 10 starts are lost")
    _draw_seen(right, runs)
    caption = (
        "Left: the formula for wide nets, at three attack radii: above a line one point defeats the ball on "
        "more than nine of ten starts; below it other points may. Dots: settings of the draws. Right: the "
        f"share that draws of {len({run.seed for run in runs})} seeds together show."
    )
    return [Picture("From which dimension on one point defeats the whole ball", caption, figure)]


def _draw_seen(ax: Axes, runs: Sequence[PhaseRun]) -> None:
    """Share seen over d, with the formula's, at every radius of the attack."""
    by_radius = sorted(grouped(runs, lambda run: run.config.tau).items())
    for index, (tau, cells) in enumerate(by_radius):
        d, table = pivot(cells, lambda run: run.config.d, lambda run: run.result.defeated)
        draw_series(ax, d, table, rf"$\tau$ = {tau:g}", color=PALETTE[index], line="", band=False)
        sizes = sorted({(run.config.d, run.config.C0) for run in cells})
        formula = [defeated_share(at, C0, tau) for at, C0 in sizes]
        label = "formula" if index == 0 else None
        ax.plot([at for at, _ in sizes], formula, "_", color=INK, markersize=14, label=label)
    ax.set_xscale("log")
    plain_ticks(ax, [5, 10, 20, 50, 100, 200])
    ax.set_ylim(0.0, 1.0)
    finish(ax, x="input dimension d", y="share of starts that are lost", title="Draws in law")
    ax.legend(frameon=False, fontsize=8, loc="lower right")


FIGURES = (Drawing(EVERY_NET, draw_every_net), Drawing(PHASE, draw_phase))
