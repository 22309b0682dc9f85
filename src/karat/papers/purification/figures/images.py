"""Table 1 as bars beside the printed numbers, and certificates of the smoothed nets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from karat.papers.purification.experiments.table1 import TABLE1, Table1Config, Table1Result
from karat.papers.purification.figures.drawings import CLEAN, ROBUST
from karat.papers.purification.printed_table1 import ATTACKERS, LABELS, PRINTED
from karat.study.drawing.image_labels import GREY, SETS, attacker_label, dot, mark, network_label, patch
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.run import Run, by_setting

BARS = {"clean": CLEAN, "noise": PALETTE[4], "from_random": PALETTE[5], "from_clean": ROBUST}
"""Trainings in the order of the bars."""

WIDTH = 0.2
"""Of a bar, where one attacker is as wide as 1."""

Group = Sequence[Run[Table1Config, Table1Result]]
"""Runs of equal settings."""


@dataclass(frozen=True)
class Column:
    """The bars of one attacker.

    Args:
        group: its runs.
        index: of the attacker among those of the runs.
    """

    group: Group
    index: int

    @property
    def attacker(self) -> str:
        """Its name."""
        return self.group[0].config.attackers[self.index]


def draw_table1(runs: Group) -> list[Picture]:
    """Draw robust accuracy of every training under every attacker, printed numbers beside it.

    Ref: purification, Tab 1
    """
    groups = by_setting(runs)
    if not groups:
        return []
    panels = _panels(groups)
    widths = [max(1.5, len(columns)) for columns in panels.values()]
    figure = Figure(figsize=(max(7.0, 1.2 + 1.75 * sum(widths)), 3.9), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True, width_ratios=widths)[0]
    for ax, ((network, source), columns) in zip(axes, panels.items(), strict=True):
        for position, column in enumerate(columns):
            _bars(ax, position, column)
        title = f"{network_label(network)}\n{SETS.get(source, source)}"
        finish(ax, x="", y="", title=title, legend=False)
        ax.set_xticks(range(len(columns)), [attacker_label(column.attacker) for column in columns])
        ax.tick_params(axis="x", labelsize=9, length=0)
        ax.grid(visible=False, axis="x")
        ax.set_ylim(0, 1.02)
        half = widths[list(panels).index((network, source))] / 2
        ax.set_xlim((len(columns) - 1) / 2 - half, (len(columns) - 1) / 2 + half)
    axes[0].set_ylabel("accuracy under strong attack", color=INK)
    handles: list[Any] = [patch(color, LABELS[mode]) for mode, color in BARS.items()]
    handles += [
        Line2D([], [], color="black", linewidth=1.8, label="training attacker"),
        dot(),
        mark("D", "printed (ResNet-34)", color=GREY, markersize=4.5),
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8, handlelength=1.2
    )
    caption = (
        "Bars: share of test images that a noise-free attack with restarts leaves right, with the 95% "
        "interval of that share. Ticks: the training attacker's own, noise included, which is how the paper "
        "measures. Dots: clean accuracy. Diamonds: printed numbers of the paper's ResNet-34 on all of "
        "CIFAR-10. Noise only: trained on the attacker's noise without its steps, a control that the paper "
        "does not have."
    )
    pictures = [Picture("Table 1, measured and printed", caption, figure)]
    return pictures + _certificates(groups)


def _panels(groups: Sequence[Group]) -> dict[tuple[str, str], list[Column]]:
    """Columns of each network and image set, in the order of the printed table."""
    panels: dict[tuple[str, str], list[Column]] = {}
    for group in groups:
        config = group[0].config
        columns = panels.setdefault((config.network, config.source), [])
        columns += [Column(group, index) for index in range(len(config.attackers))]

    def rank(column: Column) -> int:
        return ATTACKERS.index(column.attacker) if column.attacker in ATTACKERS else len(ATTACKERS)

    for columns in panels.values():
        columns.sort(key=rank)
    return panels


def _shares(column: Column) -> dict[str, tuple[float, float, float]]:
    """Strong, attacker and clean accuracy of every training, as means over the seeds."""
    shares: dict[str, tuple[float, float, float]] = {}
    for mode in BARS:
        trained = [run.result.trainings[mode] for run in column.group if mode in run.result.trainings]
        measures = [(each.strong, each.attacker, each.accuracy) for each in trained]
        if measures:
            strong, named, clean = np.mean([[row[column.index] for row in each] for each in measures], axis=0)
            shares[mode] = (float(strong), float(named), float(clean))
    # An attacker without a noise level has no net trained on noise.
    return {mode: means for mode, means in shares.items() if np.isfinite(means[0])}


def _bars(ax: Axes, position: int, column: Column) -> None:
    """The trainings under one attacker."""
    config = column.group[0].config
    size, shares = column.group[0].result.images_attacked(config), _shares(column)
    for number, (mode, (strong, named, clean)) in enumerate(shares.items()):
        x = position + (number - (len(shares) - 1) / 2) * WIDTH
        half = 1.96 * np.sqrt(max(strong * (1 - strong), 1 / size) / size)
        ax.bar(x, strong, 0.9 * WIDTH, color=BARS[mode], zorder=2)
        ax.plot([x, x], [max(strong - half, 0), strong + half], color=INK, linewidth=0.9, zorder=4)
        ax.plot([x - 0.4 * WIDTH, x + 0.4 * WIDTH], [named] * 2, color="black", linewidth=1.8, zorder=5)
        ax.plot(x, clean, "o", color="white", markeredgecolor=BARS[mode], markersize=5, zorder=5)
        top = max(strong + half, named) + 0.014
        top = clean + 0.024 if -0.035 < clean - top < 0.055 else top  # not across the dot
        ax.text(x, top, f"{100 * strong:.0f}", ha="center", fontsize=7.5, color=INK, zorder=7)
        printed = PRINTED.get(mode, {}).get(column.attacker)
        if printed is not None and config.source == "cifar10":
            ax.plot(x, printed.robust / 100, "D", color=GREY, markersize=4.5, zorder=6, clip_on=False)


def _certificates(groups: Sequence[Group]) -> list[Picture]:
    """Certified accuracy over the radius: the smoothed classifier, never in one panel with the net's own."""
    columns = [
        Column(group, index)
        for group in groups
        for index, shares in enumerate(group[0].result.clean.certified)
        if shares
    ]
    if not columns:
        return []
    figure = Figure(figsize=(4.6 * len(columns), 3.0), layout="constrained")
    axes = figure.subplots(1, len(columns), squeeze=False, sharey=True)[0]
    for ax, column in zip(axes, columns, strict=True):
        radii = column.group[0].result.radii
        for mode, color in BARS.items():
            trained = [run.result.trainings[mode] for run in column.group if mode in run.result.trainings]
            shares = [each.certified[column.index] for each in trained]
            if shares and shares[0]:
                ax.plot(radii, np.mean(shares, axis=0), "o-", color=color, label=LABELS[mode])
        network = network_label(column.group[0].config.network)
        title = f"{network}, noise of {attacker_label(column.attacker)}"
        finish(ax, x="certified l2 radius", y="certified accuracy", title=title)
        ax.set_xticks(radii)
        ax.set_ylim(0, 1)
    first = columns[0].group[0].config
    caption = (
        f"Majority vote of each net under its noise, {first.votes} draws, one-sided Clopper-Pearson "
        f"limits at level 0.001 per image, {first.certify} images. This is a proof about another "
        "classifier than the net that the attacks above meet."
    )
    return [Picture("Certified accuracy of the smoothed nets", caption, figure)]


FIGURES = (Drawing(TABLE1, draw_table1),)
