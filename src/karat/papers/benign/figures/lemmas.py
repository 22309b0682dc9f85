"""The proof's lemmas along training: margins, bounds, ratios and distances per setting."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from karat.papers.benign.checks.lemma_values import LemmaRun, distance_share
from karat.papers.benign.checks.predictions import loss_ratio_limit
from karat.papers.benign.experiments.lemma_trace import LemmaResult
from karat.papers.benign.experiments.traces import LemmaConfig
from karat.papers.benign.figures.facts import draw_facts
from karat.papers.benign.figures.notes import lost_note, seeds_text, sentences
from karat.papers.benign.figures.setting_names import Group, base_first, base_text, setting_labels
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, fit_to_seeds
from karat.study.run import Runs, by_setting

MOST = 7
"""Settings per figure: as many as there are colours."""

Curve = Callable[[LemmaResult], list[float]]


def draw_lemmas(runs: Runs[LemmaConfig, LemmaResult]) -> list[Picture]:
    """Draw what the lemmas bound, over training and per setting, and which of their facts hold.

    Args:
        runs: from the theorem's start.

    Ref: benign, Lemma 4.1; benign, Lemma 4.2; benign, Lemma 4.4; benign, Lemma B.14
    """
    if not runs:
        return []
    groups = base_first(by_setting(runs))
    labels = setting_labels(groups)
    seeds = seeds_text(np.array([len(group) for group in groups]), "setting")
    hidden = f"{len(groups) - MOST} more settings are not drawn." if len(groups) > MOST else ""
    caption = sentences(_caption(seeds), base_text(groups), hidden, lost_note(runs.lost))
    picture = Picture("Lemmas along training", caption, _draw(groups[:MOST], labels[:MOST]))
    return [picture, draw_facts(groups, labels, seeds)]


def _draw(groups: Sequence[Group], labels: Sequence[str]) -> Figure:
    figure = Figure(figsize=(7.6, 5.4 + 0.18 * len(groups)), layout="constrained")
    margin, bound, ratio, distance = figure.subplots(2, 2).ravel()
    _over_steps(margin, groups)
    finish(
        margin, x="step", y=r"margin / ($|W|\,|\mu|^2\sqrt{n/d}$)", title="Normalised margin", legend=False
    )
    _against_bound(bound, groups)
    finish(bound, x="step", y="robust test error", title="Lemma 4.2", legend=False)
    bound.legend(handles=_styles(), frameon=False, fontsize=8, labelcolor=INK)
    _dots(ratio, groups, labels, lambda run: run.result.loss_ratio, loss_ratio_limit)
    finish(ratio, x="largest ratio of loss derivatives", y="", title="Lemma 4.4", legend=False)
    _dots(distance, groups, labels, distance_share, lambda config: 1.0)
    finish(distance, x="distance from the span / bound", y="", title="Lemma 4.1", legend=False)
    distance.set_yticklabels([])
    return figure


def _over_steps(ax: Axes, groups: Sequence[Group]) -> None:
    """A line per seed: the law speaks of every single run."""
    ax.set_xscale("log")
    drawn = [_lines(ax, group, lambda r: r.normalised_margin, index) for index, group in enumerate(groups)]
    curves = [curve for lines in drawn for curve in lines]
    fit_to_seeds(ax, curves, bottom=0.0 if min(map(min, curves)) >= 0 else None)
    ax.axhline(0.0, color=INK, linewidth=1.0)


def _against_bound(ax: Axes, groups: Sequence[Group]) -> None:
    """Measured error as a line, its bound as another: the bound must lie above."""
    ax.set_xscale("log")
    for index, group in enumerate(groups):
        _lines(ax, group, lambda r: r.robust_error, index)
        _lines(ax, group, lambda r: r.margin_bound, index, style="--")
    ax.set_ylim(0.0, 1.04)


def _lines(ax: Axes, group: Group, curve: Curve, index: int, style: str = "-") -> list[list[float]]:
    colour = PALETTE[index % len(PALETTE)]
    for run in group:
        # One step alone is no line.
        marker = "o" if len(run.result.steps) == 1 else ""
        (line,) = ax.plot(run.result.steps, curve(run.result), color=colour, linestyle=style, marker=marker)
        line.set(linewidth=1.3, markersize=3, alpha=0.85)
    return [curve(run.result) for run in group]


def _styles() -> list[Line2D]:
    return [
        Line2D([], [], color=INK, linestyle="--", label="bound"),
        Line2D([], [], color=INK, linestyle="-", label="measured"),
    ]


def _dots(
    ax: Axes,
    groups: Sequence[Group],
    labels: Sequence[str],
    measured: Callable[[LemmaRun], float],
    bound: Callable[[LemmaConfig], float],
) -> None:
    """One line per setting: a dot per seed in the setting's colour, a bar where the bound is."""
    ax.set_xscale("log")
    floor = 1e-9  # distances of exactly 0 stay on the axis
    for row, group in enumerate(groups):
        at = len(groups) - 1 - row
        limit = bound(group[0].config)
        values = [max(measured(run), floor) for run in group]
        ax.plot(
            [min(values), limit if np.isfinite(limit) else max(values)], [at, at], color=FAINT, linewidth=1.2
        )
        if np.isfinite(limit):
            ax.plot([limit], [at], "|", color=INK, markersize=13, markeredgewidth=2)
        ax.plot(values, [at] * len(values), "o", color=PALETTE[row % len(PALETTE)], markersize=5, alpha=0.85)
    ax.set_ylim(-0.6, len(groups) - 0.4)
    ax.set_yticks(range(len(groups)), labels[::-1])


def _caption(seeds: str) -> str:
    several = "One seed" if seeds == "one seed" else f"A line and a dot for each of {seeds}"
    return (
        f"{several}. Normalised margin: mean margin of the worse class over |W|, the spectral norm, and "
        "the law, which must stay above some positive constant. Lemma 4.2: its bound from the margins "
        "(dashed) must lie above the robust error by PGD (solid). Lemmas 4.4 and 4.1: largest value "
        "over all steps, the black bar is the bound; dots must lie left of it."
    )
