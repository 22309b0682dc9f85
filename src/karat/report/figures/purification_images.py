"""Table 1 as bars beside the printed numbers, and certificates of the smoothed nets."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from karat.claims.purification.printed_table import MODES, PRINTED
from karat.experiments.record import Record
from karat.report.figures.image_labels import GREY, SETS, attacker_label, dot, mark, network_label, patch
from karat.report.figures.picture import Draw, Picture, by_config
from karat.report.figures.purification import CLEAN, ROBUST
from karat.report.figures.purification_angles import draw_freezing, draw_theta
from karat.report.style import INK, PALETTE, finish

BARS = {"clean": CLEAN, "noise": PALETTE[4], "from_random": PALETTE[5], "from_clean": ROBUST}
"""Trainings in the order of the bars."""


def draw_table1(records: Sequence[Record]) -> list[Picture]:
    """Robust accuracy of every training under every attacker, printed numbers beside it.

    Ref: purification, Tab 1
    """
    groups = by_config([r for r in records if r.status == "done"])
    if not groups:
        return []
    widths = [len(group[0].config["attackers"]) for group in groups]
    figure = Figure(figsize=(1.5 + 2.2 * sum(widths), 3.7), layout="constrained")
    axes = figure.subplots(1, len(groups), squeeze=False, sharey=True, width_ratios=widths)[0]
    for ax, group in zip(axes, groups, strict=True):
        _bars(ax, group)
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
        "ten times the data: compare the order, not the level. Noise only is a control that the paper does "
        "not have: part of the gain against l2 comes from the smoothing noise alone."
    )
    pictures = [Picture("Table 1 in small", caption, figure)]
    return pictures + _certificates(groups)


def _bars(ax: Axes, group: Sequence[Record]) -> None:
    record = group[0]
    modes = [mode for mode in BARS if f"{mode}_strong" in record.values]
    width = 0.84 / len(modes)
    for index, attacker in enumerate(record.config["attackers"]):
        for place, mode in enumerate(modes):
            x = index + (place - (len(modes) - 1) / 2) * width
            strong, named, clean = (
                float(np.mean([r.values[f"{mode}_{what}"][index] for r in group]))
                for what in ("strong", "attacker", "accuracy")
            )
            if not np.isfinite(strong):
                continue
            size = min(record.config["attacked"], record.values["tested_on"])
            half = 1.96 * np.sqrt(max(strong * (1 - strong), 1 / size) / size)
            ax.bar(x, strong, 0.92 * width, color=BARS[mode], zorder=2)
            ax.plot([x, x], [max(strong - half, 0), strong + half], color=INK, linewidth=0.9, zorder=4)
            ax.plot([x - 0.4 * width, x + 0.4 * width], [named] * 2, color="black", linewidth=1.8, zorder=5)
            ax.plot(x, clean, "o", color="white", markeredgecolor=BARS[mode], markersize=5, zorder=5)
            ax.text(x, strong + half + 0.012, f"{100 * strong:.0f}", ha="center", fontsize=7.5, color=INK)
            printed = PRINTED.get(mode, {}).get(attacker)
            if printed is not None:
                ax.plot(x, printed.robust / 100, "D", color=GREY, markersize=4.5, zorder=6)
    config = record.config
    title = f"{network_label(config['network'])}, {SETS[config['source']]}"
    finish(ax, x="", y="", title=title, legend=False)
    ax.set_xticks(range(len(config["attackers"])), [attacker_label(a) for a in config["attackers"]])
    ax.tick_params(axis="x", labelsize=9, length=0)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0, 1.02)
    ax.set_xlim(-0.55, len(config["attackers"]) - 0.45)


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
    first = groups[0][0].config
    caption = (
        f"Majority vote of each net under its noise, {first['votes']} draws, one-sided Clopper-Pearson "
        f"limits at level 0.001 per image, {first['certify']} images. This is a proof about another "
        "classifier than the net that the attacks above meet."
    )
    return [Picture("Certified accuracy of the smoothed nets", caption, figure)]


IMAGES: dict[str, Draw] = {
    "purification.table1": draw_table1,
    "purification.theta": draw_theta,
    "purification.freezing": draw_freezing,
}
