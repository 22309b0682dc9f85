"""Bounds of the lemmas beside what was found, and the worst subset of switched neurons beside its bound."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from karat.papers.lazy import bounds
from karat.papers.lazy.checks.lemmas import OnePointRun, by_size, where
from karat.papers.lazy.experiments.one_point import ONE_POINT, OnePointConfig, OnePointResult
from karat.papers.lazy.experiments.subset import SUBSET, SubsetConfig, SubsetResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, pivot


class Row(NamedTuple):
    """One lemma of the picture.

    Args:
        label: which lemma bounds what.
        value: what was found.
        bound: the lemma's bound on it.
    """

    label: str
    value: Callable[[OnePointRun], float]
    bound: Callable[[OnePointConfig], float]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _switches(config: OnePointConfig, tau: float = 0.0) -> float:
    return bounds.sign_change_bound(config.m, config.weight_radius, config.p_fail, tau)


ROWS = (
    Row("B.4: neurons that can switch at x", lambda run: _mean(run.result.can_switch), _switches),
    Row(
        "B.4: ... at some x + delta, as printed",
        lambda run: run.result.nearby,
        lambda config: _switches(config, config.tau),
    ),
    Row(
        "B.5: sup |f| over the ball",
        lambda run: _mean(run.result.supremum),
        lambda config: bounds.value_bound(config.m, config.C0, config.p_fail),
    ),
    Row(
        "B.6 (3): chance of a sign change",
        lambda run: run.result.angle_probability,
        lambda config: bounds.sign_flip_bound(config.d, config.tau),
    ),
    Row(
        "B.6 (4): chance of two signs nearby",
        lambda run: run.result.switches / run.result.neurons,
        lambda config: bounds.sign_switch_bound(config.d, config.tau, config.weight_radius, config.spacing),
    ),
    Row(
        "B.8: change of the gradient, one delta",
        lambda run: max(run.result.largest_change),
        lambda config: bounds.gradient_change_fixed(config.d, config.m, config.C0, config.tau, config.p_fail),
    ),
)


def draw_lemmas(runs: Runs[OnePointConfig, OnePointResult]) -> list[Picture]:
    """Draw every lemma's bound over what was found, one row per lemma, one marker per size.

    Ref: lazy, App B
    """
    # Controls break the lemmas on purpose: they are no part of the picture.
    runs = Runs(run for run in runs if run.config.reach == 1 and run.config.radius == "shrinking")
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=9.4, height=0.42 * len(ROWS) + 1.3)
    ax.set_xscale("log")
    sizes = by_size(runs)
    for index, cells in enumerate(sizes):
        ratios = [np.mean([row.bound(run.config) / row.value(run) for run in cells]) for row in ROWS]
        # Sizes stand one above the other within their row.
        heights = np.arange(len(ROWS)) + 0.12 * (index - (len(sizes) - 1) / 2)
        ax.plot(
            ratios,
            heights,
            linestyle="",
            marker="osD^v"[index % 5],
            markersize=5,
            color=PALETTE[index % 7],
            label=where(cells[0].config),
        )
    _mark_violation(ax)
    ax.set_yticks(range(len(ROWS)), [row.label for row in ROWS])
    ax.set_ylim(len(ROWS) - 0.4, -0.6)
    finish(ax, x="bound over the value found", y="")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    config = runs[0].config
    caption = (
        f"Failure probability {config.p_fail:g}, radius {config.C1:g}/sqrt(d), {config.draws} starts a cell. "
        "The supremum of |f| is exact, the change of the gradient an upper bound over the ball. Left of 1 "
        f"the bound is violated. Means over {len({run.seed for run in runs})} seeds."
    )
    return [Picture("Bounds of the lemmas over what was found", caption, figure)]


def _mark_violation(ax: Axes) -> None:
    """Shade the side on which the bound is below what was found."""
    low, high = ax.get_xlim()
    low, high = min(low, 0.2), high * 2
    ax.set_xlim(low, high)
    ax.axvline(1, color=INK, linewidth=1.0)
    ax.axvspan(low, 1, color=PALETTE[1], alpha=0.08, linewidth=0)
    # Above the rows, one word on each side of the line.
    for x, ha, word in ((0.8, "right", "violated"), (1.25, "left", "met")):
        ax.text(x, 1.02, word, transform=ax.get_xaxis_transform(), ha=ha, fontsize=8, color=INK)


def draw_subset(runs: Runs[SubsetConfig, SubsetResult]) -> list[Picture]:
    """Draw the worst subset of switched neurons against the printed bound, over the width.

    Ref: lazy, Eq 7
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    d = max(run.config.d for run in runs)
    cells = [run for run in runs if run.config.d == d]
    m, subset = pivot(cells, lambda run: run.config.m, lambda run: run.result.subset)
    _, bound = pivot(cells, lambda run: run.config.m, lambda run: run.result.bound)
    draw_series(ax, m, subset, "worst subset found", color=PALETTE[1])
    draw_series(ax, m, bound, "printed bound (7)", color=PALETTE[0], line="--", marker="s", band=False)
    ax.axhline(cells[0].result.limit, color=INK, linestyle=":", linewidth=1.1, label=r"$C_0/\pi$")
    round_ticks(ax)
    finish(ax, x="width m", y=r"$|\sum_{s \in S} \pm P w_s|/\sqrt{m}$")
    caption = (
        f"d = {d}, C0 = {cells[0].config.C0:g}. The adversary chooses which neurons near their kink "
        "switch; the printed bound treats their weights as independent of that choice. Dotted: what half of "
        f"the neurons near their kink add along a fixed direction. {seeds_note(cells)}"
    )
    return [Picture("Switched neurons", caption, figure)]


FIGURES = (Drawing(ONE_POINT, draw_lemmas), Drawing(SUBSET, draw_subset))
