"""Figure of the width: distance to the best robust loss, movement, activation patterns."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.checks.two_layer_runs import TwoLayerRun
from karat.papers.convergence.experiments.descent import WIDTH
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, power_guide, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped, pivot

_PROJECTED = {True: (PALETTE[0], "projected"), False: (PALETTE[1], "unprojected")}


def draw_width(runs: Sequence[TwoLayerRun]) -> list[Picture]:
    """Distance to the best robust loss, movement and pattern changes over the width.

    Ref: convergence, Eq 10
    """
    if not runs:
        return []
    config = runs[0].config
    same_ball = [run for run in runs if run.config.R == config.R]
    figure, axes = new_figure(3, width=3.4, height=3.6)
    gaps, movement, signs = axes
    for ax in axes:
        ax.set_xscale("log")
    for ax in (movement, signs):
        ax.set_yscale("log")
    _draw_gaps(gaps, [run for run in same_ball if run.config.projected])
    _draw_movement(movement, same_ball)
    _draw_signs(signs, same_ball)
    for ax in axes:
        plain_ticks(ax, sorted({run.config.m for run in same_ball}))
    for ax in (movement, signs):
        round_ticks(ax)
    finish(gaps, x="width m", y=r"$\min_t L_A$ less the reference", title="Gap, projected", legend=False)
    finish(movement, x="width m", y=r"$|W - W_0|$", title="Movement", legend=False)
    finish(signs, x="width m", y="share of signs changed", title="Activation patterns", legend=False)
    for ax in axes:
        ax.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    caption = (
        f"Paired two-layer nets, n = {config.n}, d = {config.d}, cap radius {config.tau:g}, ball R = "
        f"{config.R:g}. The reference is the loss of the best linearised net found in the ball; shaded is "
        f"how far it may lie above the smallest. {seeds_note(same_ball)}"
    )
    return [Picture("Width, movement and patterns", caption, figure)]


def _width(run: TwoLayerRun) -> float:
    return run.config.m


def _draw_gaps(ax: Axes, projected: Sequence[TwoLayerRun]) -> None:
    """Gaps of projected runs only: an unprojected net may leave the ball and beat its reference."""
    if not projected:
        return
    m, gap = pivot(projected, _width, lambda run: run.result.final_gap - run.result.certificate_width)
    draw_series(ax, m, gap, "gap", color=PALETTE[0])
    _, width = pivot(projected, _width, lambda run: run.result.certificate_width)
    ax.fill_between(m, -np.nanmean(width, axis=0), 0 * m, color=INK, alpha=0.15, linewidth=0)
    ax.axhline(0, color=INK, linewidth=0.8, linestyle=":", label="reference")


def _draw_movement(ax: Axes, runs: Sequence[TwoLayerRun]) -> None:
    by_projection = grouped(runs, lambda run: run.config.projected)
    for projected, (color, label) in _PROJECTED.items():
        cells = by_projection.get(projected, [])
        if not cells:
            continue
        m, rows = pivot(cells, _width, lambda run: run.result.rows)
        _, frobenius = pivot(cells, _width, lambda run: run.result.frobenius)
        # Shapes of markers tell the two norms apart where lines are too short to show their dashes.
        draw_series(ax, m, frobenius, f"Frobenius, {label}", color=color, marker="s", fill=False)
        draw_series(ax, m, rows, f"largest row, {label}", color=color)
        if projected:
            _half_power_guide(ax, m, rows)


def _draw_signs(ax: Axes, runs: Sequence[TwoLayerRun]) -> None:
    by_projection = grouped(runs, lambda run: run.config.projected)
    for projected, (color, label) in _PROJECTED.items():
        cells = by_projection.get(projected, [])
        if not cells:
            continue
        m, changed = pivot(cells, _width, lambda run: run.result.pattern_change)
        draw_series(ax, m, changed, label, color=color, marker="o" if projected else "s", fill=projected)
        if projected:
            _half_power_guide(ax, m, changed)
            bound = 1.6 * float(np.nanmean(changed[:, 0])) * (m / m[0]) ** (-1 / 3)
            ax.plot(m, bound, color=INK, linestyle="--", linewidth=1.0, label=r"$m^{-1/3}$ (Eq 10)")


def _half_power_guide(ax: Axes, m: np.ndarray, table: np.ndarray) -> None:
    power_guide(ax, m, (m[0], 0.7 * float(np.nanmean(table[:, 0]))), -0.5, r"$m^{-1/2}$")


FIGURES = (Drawing(WIDTH, draw_width),)
