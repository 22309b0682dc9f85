"""Bounds of the lemmas beside what was found, and the worst subset of switched neurons beside its bound."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from karat.papers.lazy.checks.lemmas import LemmasRun
from karat.papers.lazy.experiments.lemmas import LEMMAS, LemmasConfig, LemmasResult
from karat.papers.lazy.experiments.subset import SUBSET, SubsetConfig, SubsetResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot


class Row(NamedTuple):
    """One lemma of the picture.

    Args:
        label: which lemma bounds what.
        value: what was found.
        bound: the lemma's bound on it.
        on_gradient: whether it bounds the change of the gradient, vacuously if it exceeds the gradient.
    """

    label: str
    value: Callable[[LemmasResult], float]
    bound: Callable[[LemmasResult], float]
    on_gradient: bool = False

    def is_vacuous(self, run: LemmasRun) -> bool:
        """Whether the bound on a change of the gradient exceeds the gradient itself, about sqrt(d/2)."""
        return self.on_gradient and self.bound(run.result) > (run.config.d / 2) ** 0.5


ROWS = (
    Row("B.4: neurons that can switch at x", lambda r: r.can_switch, lambda r: r.can_switch_bound),
    Row(
        "B.4: ... at some x + delta, as printed",
        lambda r: r.can_switch_nearby,
        lambda r: r.can_switch_nearby_bound,
    ),
    Row("B.5: sup |f|", lambda r: r.value_supremum, lambda r: r.value_supremum_bound),
    Row("B.6: chance of a sign change", lambda r: r.flip_probability, lambda r: r.flip_probability_bound),
    Row(
        "B.8: change of the gradient, fixed delta",
        lambda r: r.gradient_change,
        lambda r: r.gradient_change_bound,
        on_gradient=True,
    ),
    Row(
        "B.9: ... over all delta",
        lambda r: r.gradient_change_all,
        lambda r: r.gradient_change_all_bound,
        on_gradient=True,
    ),
    Row("Eq (7): subset of switched neurons", lambda r: r.subset, lambda r: r.subset_bound),
)


def draw_lemmas(runs: Runs[LemmasConfig, LemmasResult]) -> list[Picture]:
    """Draw every lemma's bound over what was found, one row per lemma, one marker per size.

    Ref: lazy, App B
    """
    # Controls break the lemmas on purpose: they are no part of the picture.
    runs = Runs(run for run in runs if run.config.reach == 1)
    if not runs:
        return []
    by_size = sorted(grouped(runs, lambda run: (run.config.m, run.config.d)).items())
    figure, (ax,) = new_figure(1, width=7.6, height=0.42 * len(ROWS) + 1.3)
    ax.set_xscale("log")
    for index, ((m, d), cells) in enumerate(by_size):
        ratios = [np.mean([row.bound(run.result) / row.value(run.result) for run in cells]) for row in ROWS]
        # Sizes stand one above the other within their row.
        heights = np.arange(len(ROWS)) + 0.12 * (index - (len(by_size) - 1) / 2)
        ax.plot(
            ratios,
            heights,
            linestyle="",
            marker="osD^v"[index % 5],
            markersize=5,
            color=PALETTE[index % 7],
            label=f"d = {d}, m = {m:,}",
        )
    _mark_violation(ax)
    labels = [row.label + ", vacuous" * all(map(row.is_vacuous, runs)) for row in ROWS]
    ax.set_yticks(range(len(ROWS)), labels)
    ax.set_ylim(len(ROWS) - 0.1, -0.6)
    finish(ax, x="bound over the value found", y="")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    config = runs[0].config
    caption = (
        f"C0 = {config.C0:g}, failure probability {config.p_fail:g}, radius {config.C1:g}/sqrt(d); "
        "nets trained to the edge of the ball, suprema over the ball exact where they separate. Left of 1 "
        "the bound is violated; vacuous: it allows more than the gradient's own length. Lemma B.7 bounds "
        f"from below and is not shown. Means over {len({run.seed for run in runs})} seeds."
    )
    return [Picture("Bounds of the lemmas over what was found", caption, figure)]


def _mark_violation(ax: Axes) -> None:
    """Shade the side on which the bound is below what was found."""
    low, high = ax.get_xlim()
    low, high = min(low, 0.02), high * 2
    ax.set_xlim(low, high)
    ax.axvline(1, color=INK, linewidth=1.0)
    ax.axvspan(low, 1, color=PALETTE[1], alpha=0.08, linewidth=0)
    ax.text(0.93, 0.02, "violated", transform=ax.get_xaxis_transform(), ha="right", fontsize=8, color=INK)
    ax.text(1.07, 0.02, "met", transform=ax.get_xaxis_transform(), fontsize=8, color=INK)


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


FIGURES = (Drawing(LEMMAS, draw_lemmas), Drawing(SUBSET, draw_subset))
