"""Lazy against convergence on one axis: is there a robust net in the ball around the start?"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.study.drawing.picture import Picture
from karat.study.drawing.series import done, draw_series, power_guide, seeds_note, table_of
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.record import Record

START = {"paired": (PALETTE[0], "paired start"), "gaussian": (PALETTE[1], "unpaired start")}
PLAIN = math.log(2)


def draw_joint(records: Sequence[Record]) -> list[Picture]:
    """Enclosures of the best robust loss in both balls, robust accuracy, and the flip radius against d.

    Ref: convergence, vs-lazy
    """
    own = done(records)
    images = [r for r in own if r.config["padded_from"] is None]
    padded = [r for r in own if r.config["padded_from"] is not None]
    if not images:
        return []
    figure = Figure(figsize=(9.6, 7.4), layout="constrained")
    axes = figure.subplots(2, 2)
    _losses(axes[0, 0], [r for r in images if r.config["ball"] == "rows"])
    _accuracies(axes[0, 1], images)
    _frobenius(axes[1, 0], [r for r in images if r.config["ball"] == "frobenius"])
    _flip_radius(axes[1, 1], padded)
    config = images[0].config
    d = config["side"] ** 2
    caption = (
        f"Digits 0 and 1 of length 1, d = {d}, m = {config['m']}, n = {config['n']} training points, attack "
        f"radius tau = {config['tau']:g} = {config['tau'] * math.sqrt(d):.1f}/sqrt(d) on the sphere. Top "
        "left and bottom left: the best robust training loss of ALL nets in the ball lies in the shaded "
        "band, between the loss of a net that was found (line) and a certified lower bound (its lower edge; "
        "a convex problem plus the largest gain that switching neurons can bring). Dashed blue: "
        "convergence's prediction, a kernel function with margin 1 scaled into the ball; dashed orange: "
        "lazy's obstruction with its sharp constant, the best margin C0/2 - tau sqrt(d/2) that an unpaired "
        "ball allows at one input. Above log 2 no net of the ball is robust on all training points. Bottom "
        f"right: the same data zero-padded, so that only the network's d grows. {seeds_note(own)}"
    )
    return [Picture("Does a robust net exist near the start?", caption, figure)]


def _C0(record: Record) -> float:
    return float(record.config["C0"])


def _doubling_ticks(ax: Axes, records: Sequence[Record]) -> None:
    ticks = [2.0**k for k in range(-2, 8) if min(map(_C0, records)) <= 2.0**k <= max(map(_C0, records))]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _enclosure(ax: Axes, records: Sequence[Record]) -> None:
    """Bands between certified bound and found loss, with the predictions of both papers."""
    ax.set_xscale("log", base=2)
    for start, (color, label) in START.items():
        cells = [r for r in records if r.config["start"] == start]
        if not cells:
            continue
        x, loss = table_of(cells, _C0, lambda r: float(r.values["loss"]))
        _, bound = table_of(cells, _C0, lambda r: float(r.values["bound"]))
        draw_series(ax, x, loss, f"{label}: found", color=color, band=False)
        ax.fill_between(
            x, np.nanmean(bound, axis=0), np.nanmean(loss, axis=0), color=color, alpha=0.22, linewidth=0
        )
        ax.plot(x, np.nanmean(bound, axis=0), color=color, linewidth=0.8)
        name = "convergence_loss" if start == "paired" else "lazy_loss"
        _, predicted = table_of(cells, _C0, lambda r, name=name: float(r.values[name]))  # type: ignore[misc]
        text = "convergence's prediction" if start == "paired" else "lazy's obstruction"
        ax.plot(x, np.nanmean(predicted, axis=0), color=color, linestyle="--", linewidth=1.3, label=text)
    ax.axhline(PLAIN, color=INK, linestyle=":", linewidth=1.1)
    ax.set_ylim(0, None)
    _doubling_ticks(ax, records)


def _losses(ax: Axes, records: Sequence[Record]) -> None:
    _enclosure(ax, records)
    config = records[0].config
    limit = config["tau"] * math.sqrt(2) * config["side"]
    top = ax.get_ylim()[1]
    ax.axvline(limit, color=INK, linestyle="-.", linewidth=0.9)
    ax.text(limit * 1.05, 0.58 * top, r"$\tau\sqrt{2d}$", fontsize=9, color=INK)
    ax.axvline(25, color=INK, linestyle=":", linewidth=0.9)
    ax.text(25.8, 0.3 * top, "25 (lazy, Fig 4)", fontsize=7.5, color=INK, rotation=90)
    ax.text(
        _C0(min(records, key=_C0)),
        PLAIN + 0.02 * top,
        "log 2: above it some point is wrong",
        fontsize=7.5,
        color=INK,
    )
    finish(
        ax,
        x=r"radius $C_0$ of the (2, $\infty$) ball, rows within $C_0/\sqrt{m}$",
        y="best robust training loss",
        title="All nets of the (2, ∞) ball",
    )
    legend = ax.legend(fontsize=8, loc="upper right", framealpha=1.0, edgecolor="none", borderpad=0.3)
    legend.set_zorder(5)


def _frobenius(ax: Axes, records: Sequence[Record]) -> None:
    if not records:
        ax.set_axis_off()
        return
    _enclosure(ax, records)
    finish(
        ax,
        x=r"radius $R$ of the Frobenius ball, which holds the (2, $\infty$) ball $C_0 = R$",
        y="best robust training loss",
        title="All nets of the Frobenius ball",
        legend=False,
    )


def _accuracies(ax: Axes, records: Sequence[Record]) -> None:
    ax.set_xscale("log", base=2)
    for start, (color, label) in START.items():
        for ball, line, fill in (("rows", "-", True), ("frobenius", "--", False)):
            cells = [r for r in records if r.config["start"] == start and r.config["ball"] == ball]
            if not cells:
                continue
            x, table = table_of(cells, _C0, lambda r: float(r.values["test_accuracy"]))
            shape = "(2, ∞)" if ball == "rows" else "Frobenius"
            draw_series(ax, x, table, f"{label}, {shape}", color=color, line=line, fill=fill, band=fill)
    ax.set_ylim(-0.04, 1.04)
    _doubling_ticks(ax, records)
    finish(ax, x=r"radius $C_0$ or $R$", y="robust test accuracy (PGD)", title="The best net found")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(0.0, 0.6))


def _flip_radius(ax: Axes, records: Sequence[Record]) -> None:
    if not records:
        ax.set_axis_off()
        return
    ax.set_xscale("log")
    ax.set_yscale("log")
    for start, (color, label) in START.items():
        cells = [r for r in records if r.config["start"] == start]
        x, table = table_of(
            cells, lambda r: float(r.config["side"] ** 2), lambda r: float(r.values["flip_radius"])
        )
        draw_series(ax, x, table, label, color=color)
        _, local = table_of(
            cells, lambda r: float(r.config["side"] ** 2), lambda r: float(r.values["flip_ratio"])
        )
        draw_series(ax, x, local, f"{label}: |f|/|grad f|", color=color, line=":", marker="", band=False)
        if start == "gaussian":
            power_guide(ax, x, (x[0], 0.8 * float(np.nanmean(table[:, 0]))), -0.5, r"$d^{-1/2}$ (lazy)")
    ax.axhline(
        records[0].config["tau"], color=INK, linewidth=0.9, linestyle="-.", label=r"attack radius $\tau$"
    )
    ticks = sorted({r.config["side"] ** 2 for r in records})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    levels = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]
    low, high = ax.get_ylim()
    inside = [level for level in levels if low <= level <= high]
    ax.set_yticks(inside, [f"{level:g}" for level in inside])
    ax.minorticks_off()
    finish(
        ax,
        x="network's input dimension d (same data, zero-padded)",
        y="median smallest flip radius",
        title=f"Flip radius at C0 = {records[0].config['C0']:g}",
    )
    ax.legend(frameon=False, fontsize=8, loc="lower left")
