"""Table 1 as bars beside the printed numbers, and certificates of the smoothed nets."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from karat.papers.purification.figures.angles import draw_freezing, draw_theta
from karat.papers.purification.figures.drawings import CLEAN, ROBUST
from karat.papers.purification.printed_table1 import ATTACKERS, MODES, PRINTED
from karat.study.drawing.image_labels import GREY, SETS, attacker_label, dot, mark, network_label, patch
from karat.study.drawing.picture import Draw, Picture, by_config
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.record import Record

BARS = {"clean": CLEAN, "noise": PALETTE[4], "from_random": PALETTE[5], "from_clean": ROBUST}
"""Trainings in the order of the bars."""

WIDTH = 0.2
MEASURES = ("strong", "attacker", "accuracy")


def draw_table1(records: Sequence[Record]) -> list[Picture]:
    """Robust accuracy of every training under every attacker, printed numbers beside it.

    Ref: purification, Tab 1
    """
    groups = by_config([r for r in records if r.status == "done"])
    if not groups:
        return []
    panels = _panels(groups)
    widths = [max(1.5, len(columns)) for columns in panels.values()]
    figure = Figure(figsize=(max(7.0, 1.2 + 1.75 * sum(widths)), 3.9), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True, width_ratios=widths)[0]
    for ax, ((network, source), columns) in zip(axes, panels.items(), strict=True):
        for place, (group, index) in enumerate(columns):
            _bars(ax, place, group, index)
        title = f"{network_label(network)}\n{SETS.get(source, source)}"
        finish(ax, x="", y="", title=title, legend=False)
        names = [group[0].config["attackers"][index] for group, index in columns]
        ax.set_xticks(range(len(names)), [attacker_label(name) for name in names])
        ax.tick_params(axis="x", labelsize=9, length=0)
        ax.grid(visible=False, axis="x")
        ax.set_ylim(0, 1.02)
        half = widths[list(panels).index((network, source))] / 2
        ax.set_xlim((len(names) - 1) / 2 - half, (len(names) - 1) / 2 + half)
    axes[0].set_ylabel("accuracy under strong attack", color=INK)
    handles: list[Any] = [patch(color, MODES[mode]) for mode, color in BARS.items()]
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
        "measures. Dots: clean accuracy. Diamonds: the paper's ResNet-34 on all of CIFAR-10, another net and "
        "more data: compare the order, not the level. Noise only is a control that the paper does "
        "not have: part of the gain against l2 comes from the smoothing noise alone."
    )
    pictures = [Picture("Table 1 in small", caption, figure)]
    return pictures + _certificates(groups)


Column = tuple[list[Record], int]


def _panels(groups: Sequence[list[Record]]) -> dict[tuple[str, str], list[Column]]:
    """Columns of each network and image set: records and the index of an attacker, in the table's order."""
    panels: dict[tuple[str, str], list[Column]] = {}
    for group in groups:
        config = group[0].config
        columns = panels.setdefault((config["network"], config["source"]), [])
        columns += [(group, index) for index in range(len(config["attackers"]))]

    def place(column: Column) -> int:
        name = column[0][0].config["attackers"][column[1]]
        return ATTACKERS.index(name) if name in ATTACKERS else len(ATTACKERS)

    for columns in panels.values():
        columns.sort(key=place)
    return panels


def _bars(ax: Axes, place: int, group: Sequence[Record], index: int) -> None:
    """The trainings under one attacker."""
    record = group[0]
    attacker, size = record.config["attackers"][index], record.config["attacked"]
    size = min(size, record.values["tested_on"])
    shares = {
        mode: [
            # An attacker without a noise level has no net trained on noise: None, or NaN as a float.
            float(np.array([r.values[f"{mode}_{what}"][index] for r in group], dtype=float).mean())
            for what in MEASURES
        ]
        for mode in BARS
        if f"{mode}_strong" in record.values
    }
    shares = {mode: found for mode, found in shares.items() if np.isfinite(found[0])}
    for number, (mode, (strong, named, clean)) in enumerate(shares.items()):
        x = place + (number - (len(shares) - 1) / 2) * WIDTH
        half = 1.96 * np.sqrt(max(strong * (1 - strong), 1 / size) / size)
        ax.bar(x, strong, 0.9 * WIDTH, color=BARS[mode], zorder=2)
        ax.plot([x, x], [max(strong - half, 0), strong + half], color=INK, linewidth=0.9, zorder=4)
        ax.plot([x - 0.4 * WIDTH, x + 0.4 * WIDTH], [named] * 2, color="black", linewidth=1.8, zorder=5)
        ax.plot(x, clean, "o", color="white", markeredgecolor=BARS[mode], markersize=5, zorder=5)
        top = max(strong + half, named) + 0.014
        top = clean + 0.024 if -0.035 < clean - top < 0.055 else top  # not across the dot
        ax.text(x, top, f"{100 * strong:.0f}", ha="center", fontsize=7.5, color=INK, zorder=7)
        printed = PRINTED.get(mode, {}).get(attacker)
        if printed is not None and record.config["source"] == "cifar10":
            ax.plot(x, printed.robust / 100, "D", color=GREY, markersize=4.5, zorder=6, clip_on=False)


def _certificates(groups: Sequence[Sequence[Record]]) -> list[Picture]:
    """Certified accuracy over the radius: the smoothed classifier, never in one panel with the net's own."""
    panels = [
        (group, index)
        for group in groups
        for index in range(len(group[0].config["attackers"]))
        if group[0].values["clean_certified"][index]
    ]
    if not panels:
        return []
    figure = Figure(figsize=(4.6 * len(panels), 3.0), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (group, index) in zip(axes, panels, strict=True):
        values, config = group[0].values, group[0].config
        for mode, color in BARS.items():
            found = [r.values.get(f"{mode}_certified", [[]] * (index + 1))[index] for r in group]
            if found[0]:
                ax.plot(values["radii"], np.mean(found, axis=0), "o-", color=color, label=MODES[mode])
        title = f"{network_label(config['network'])}, noise of {attacker_label(config['attackers'][index])}"
        finish(ax, x="certified l2 radius", y="certified accuracy", title=title)
        ax.set_xticks(values["radii"])
        ax.set_ylim(0, 1)
    first = panels[0][0][0].config
    caption = (
        f"Majority vote of each net under its noise, {first['votes']} draws, one-sided Clopper-Pearson "
        f"limits at level 0.001 per image, {first['certify']} images. This is a proof about another "
        "classifier than the net that the attacks above meet."
    )
    return [Picture("Certified accuracy of the smoothed nets", caption, figure)]


FIGURES: dict[str, Draw] = {
    "purification.table1": draw_table1,
    "purification.theta": draw_theta,
    "purification.freezing": draw_freezing,
}
