"""Charts of a probe: weights, activity, kernels, densities, reconstruction, robust accuracy."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from karat.study.drawing.style import FAINT, INK, LINES, PALETTE, finish, literal

Values = Mapping[str, Any]
COLOURS = {"start": "#7a7a7a", "before": PALETTE[1], "after": PALETTE[0]}
"""Grey for the start, vermilion before, blue after: the same on every chart."""
MARKERS = {"clean": "o", "under attack": "<", "proven": ">", "vote right": "d", "vote certified": "D"}
_ROW = 0.24


def draw_weights(values: Values) -> Figure:
    """Angles of every layer, relative movement and the largest row's movement, layers from top to bottom."""
    layers = values["layers"]
    figure, panels = _rows(len(layers), 3, (2.1, 1.2, 1.2))
    y = np.arange(len(layers))
    angles, relative, rows = panels
    angles.scatter(_column(layers, "chance"), y, marker="|", s=90, color="#999999", label="chance level")
    angles.scatter(
        _column(layers, "pairs_before"), y, marker="s", s=18, color=PALETTE[2], label="pairs of filters"
    )
    if values["setting"]["start"]:
        starts = _column(layers, "start_before")
        angles.scatter(starts, y, marker="D", s=20, color=COLOURS["start"], label="θ(w₀, w)")
    angles.scatter(_column(layers, "theta"), y, marker="o", s=30, color=COLOURS["after"], label="θ(w, w′)")
    angles.set_xlim(-0.03, 1.03)
    finish(angles, x="mean |cosine|", y="", title="Angles", legend=False)
    figure.legend(
        *angles.get_legend_handles_labels(), frameon=False, fontsize=8, ncols=4, loc="outside lower left"
    )
    _bars(relative, _column(layers, "relative"), "|W′ − W| / |W|", "Movement")
    _bars(rows, _column(layers, "row_scaled"), "√m · max row |w′ − w|", "Largest row")
    _layer_names(angles, [layer["name"] for layer in layers])
    return figure


def draw_activity(values: Values) -> Figure:
    """Share of active units before and after, and how many signs changed, rectifier by rectifier."""
    gates = values["gates"]
    figure, (active, changed) = _rows(len(gates), 2, (1.6, 1.2))
    y = np.arange(len(gates))
    old, new = _column(gates, "active_before"), _column(gates, "active_after")
    active.hlines(y, old, new, color=FAINT, linewidth=2, zorder=1)
    active.scatter(old, y, s=30, color=COLOURS["before"], label="before", zorder=2)
    active.scatter(new, y, s=30, color=COLOURS["after"], label="after", zorder=2)
    active.set_xlim(0, max(0.55, 1.05 * float(np.nanmax([*old, *new]))))
    finish(active, x="share of positive pre-activations", y="", title="Active units", legend=False)
    changed.barh(y, _column(gates, "changed"), height=0.6, color=PALETTE[5], label="changed")
    changed.scatter(_column(gates, "chance"), y, marker="|", s=90, color=INK, label="if unrelated")
    finish(changed, x="share of signs", y="", title="Changed signs", legend=False)
    for axes in (active, changed):
        axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1.02, 0.97))
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    _layer_names(active, [gate["layer"] or gate["name"] for gate in gates])
    return figure


def draw_kernels(values: Values) -> Figure:
    """Centred tangent kernels side by side, each over its largest entry, samples sorted by label."""
    tables: Mapping[str, Any] = values["kernels"]["tables"]
    labels = values["kernels"]["labels"]
    order = [name for name in ("start", "before", "after") if name in tables]
    figure = Figure(figsize=(9.4, 9.0 / max(len(order), 3) + 0.1), layout="constrained")
    edges = [i - 0.5 for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    panels = [figure.add_subplot(1, len(order), column + 1) for column in range(len(order))]
    for axes, name in zip(panels, order, strict=True):
        kernel = _centred(np.array(tables[name]))
        axes.imshow(kernel, cmap="RdBu_r", vmin=-1, vmax=1)
        for edge in edges:
            axes.axhline(edge, color=INK, linewidth=0.4)
            axes.axvline(edge, color=INK, linewidth=0.4)
        axes.set_title(name, loc="left", fontsize=10, fontweight="bold", color=INK)
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def draw_densities(values: Values) -> Figure:
    """Effective share of each basis that perturbations, inputs and noise use."""
    bases = values["densities"]
    marks = {
        "perturbation of before": ("o", COLOURS["before"], "before's perturbations"),
        "perturbation of after": ("o", COLOURS["after"], "after's perturbations"),
        "inputs, centred": ("D", PALETTE[2], "inputs"),
        "white noise": ("|", "#777777", "white noise"),
    }
    figure = Figure(figsize=(9.4, 1.1 + 0.36 * len(bases)), layout="constrained")
    axes = figure.add_subplot()
    lowest = 1.0
    for row, (marker, colour, label) in marks.items():
        points = [
            (float(basis["rows"][row]["participation"]) / basis["size"], height)
            for height, basis in enumerate(bases)
            if row in basis["rows"]
        ]
        x, y = zip(*points, strict=True) if points else ((), ())
        lowest = min([lowest, *(value for value in x if value > 0)])
        axes.scatter(x, y, marker=marker, s=100 if marker == "|" else 36, color=colour, label=label, zorder=2)
    axes.set_xscale("log")
    ticks = [t for t in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if lowest / 2 < t]
    axes.set_xticks(ticks, [f"{100 * t:g} %" for t in ticks])
    axes.minorticks_off()
    names = [f"{basis['name']} ({basis['size']})" for basis in bases]
    axes.set_yticks(range(len(bases)), names)
    axes.set_ylim(len(bases) - 0.5, -0.5)
    finish(axes, x="effective share of the basis (participation ratio / size)", y="", legend=False)
    axes.legend(
        frameon=False, fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0), columnspacing=1
    )
    return figure


def draw_rebuilding(values: Values) -> Figure:
    """Sparsity-error curves of the Lasso, one line per dictionary."""
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for index, entry in enumerate(values["rebuilding"]):
        name = entry["dictionary"]
        colour = COLOURS.get(name, PALETTE[2 + index % 3])
        line = "-" if name in COLOURS else LINES[1 + index % 3]
        axes.plot(entry["nonzeros"], entry["errors"], color=colour, linestyle=line, marker=".", label=name)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [m * 10**k for k in range(6) for m in (1, 2, 5) if low <= m * 10**k <= high]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    finish(axes, x="features used per input (mean)", y="relative squared error", title="")
    return figure


def draw_accuracy(values: Values) -> Figure:
    """Robust accuracy between proof and attack for each net; the smoothed vote on lines of its own."""
    entries = values["robustness"]
    rows: list[tuple[str, Values, bool]] = [(net["net"], net, False) for net in entries]
    rows += [(f"{net['net']}, smoothed vote", net, True) for net in entries if net["smoothed"]]
    figure = Figure(figsize=(9.4, 1.0 + 0.34 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    drawn: set[str] = set()
    for height, (_, net, smoothed) in enumerate(rows):
        colour = COLOURS[net["net"]]
        if smoothed:
            shares = {
                "vote right": net["smoothed"]["accuracy"],
                "vote certified": net["smoothed"]["certified"],
            }
        else:
            shares = {"clean": net["clean"], "under attack": net["attacked"], "proven": net["proven"]}
        if net["proven"] and not smoothed:
            low, high = net["proven"]["value"], net["left"]["value"]
            axes.barh(height, high - low, left=low, height=0.62, color=colour, alpha=0.18)
        known = {label: share for label, share in shares.items() if share}
        for step, (label, share) in enumerate(known.items()):
            _share(axes, share, height + 0.2 * (step - (len(known) - 1) / 2), colour, MARKERS[label])
            drawn.add(label)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    finish(axes, x="accuracy, with 95 % intervals", y="", legend=False)
    legend = [(label, marker) for label, marker in MARKERS.items() if label in drawn]
    handles = [
        Line2D([], [], color=INK, linestyle="", marker=marker, label=label) for label, marker in legend
    ]
    axes.legend(
        handles=handles, frameon=False, fontsize=8, ncols=5, loc="lower center", bbox_to_anchor=(0.45, 1.0)
    )
    return figure


def _centred(kernel: np.ndarray) -> np.ndarray:
    """The kernel without its row and column means, over its largest entry."""
    rest = kernel - kernel.mean(axis=0) - kernel.mean(axis=1, keepdims=True) + kernel.mean()
    largest = float(np.abs(rest).max())
    return rest / largest if largest > 0 else rest


def _share(axes: Axes, share: Values, height: float, colour: str, marker: str) -> None:
    value = float(share["value"])
    ends = np.abs([[value - float(share["low"])], [float(share["high"]) - value]])
    axes.errorbar(
        [value], [height], xerr=ends, color=colour, marker=marker, markersize=5, capsize=2, linewidth=1
    )


def _rows(count: int, panels: int, widths: Sequence[float]) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(9.4, 1.35 + _ROW * max(count, 3)), layout="constrained")
    grid = figure.add_gridspec(1, panels, width_ratios=widths)
    first = figure.add_subplot(grid[0])
    others = [figure.add_subplot(grid[column], sharey=first) for column in range(1, panels)]
    for axes in others:
        axes.tick_params(labelleft=False)
    return figure, [first, *others]


def _layer_names(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [literal(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)


def _bars(axes: Axes, values: Sequence[float], label: str, title: str) -> None:
    axes.barh(np.arange(len(values)), values, height=0.6, color=PALETTE[5])
    finish(axes, x=label, y="", title=title, legend=False)


def _column(rows: Sequence[Values], name: str) -> list[float]:
    return [float(row[name]) if row[name] is not None else math.nan for row in rows]
