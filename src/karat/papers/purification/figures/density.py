"""Density of perturbations, sparse codes with their controls, and activity of image nets over training."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.study.drawing.picture import Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.record import Record

CLEAN, ROBUST, OTHER, NOISE = PALETTE[1], PALETTE[0], "#8C8C8C", PALETTE[4]
"""Clean nets in vermilion, robust ones in blue, images and controls in grey."""

SOURCES = {"digits": "embedded digits", "cifar10": "CIFAR-10", "cifar10_pair": "CIFAR-10 airplane/automobile"}


def draw_density(records: Sequence[Record]) -> Picture:
    """Effective numbers of waves, of principal components and, where measured, of neutral atoms."""
    coded = "curves" in records[0].values
    figure, axes = new_figure(3 if coded else 2, width=3.1, height=2.9)
    labels = [decay(record) if len(records) > 1 else net_name(record) for record in records]
    for ax, basis, title in ((axes[0], "dct", "Waves (DCT)"), (axes[1], "pca", "Principal components")):
        table = [record.values["density"] for record in records]
        rows = {
            name: [entry[name][basis]["participation"] for entry in table]
            for name in ("clean_delta", "robust_delta", "image")
        }
        _bars(ax, labels, rows)
        finish(ax, x="", y="effective number", title=title, legend=ax is axes[0])
        ax.set_ylim(0, (1.5 if ax is axes[0] else 1.15) * max(max(row) for row in rows.values()))
    if coded:
        level = _level(records, ("clean_delta|noise", "robust_delta|noise", "image|noise"))
        counts = {
            name: [float(np.mean(r.values["curves"][f"{name}|noise"]["at"][level])) for r in records]
            for name in ("clean_delta", "robust_delta", "image")
        }
        _bars(axes[2], labels, counts)
        axes[2].set_ylim(0, 1.15 * max(max(row) for row in counts.values()))
        finish(axes[2], x="", y=f"non-zeros at error {level}", title="Blurred-noise atoms", legend=False)
    noise = records[0].values["density"]["noise"]["dct"]["participation"]
    caption = (
        "Left: participation ratio (Σc²)²/Σc⁴ of perturbations in cosine waves and in the principal "
        f"components of the training images, mean over images; white noise has {noise:.0f}."
        + (" Right: Lasso codes from smooth atoms that no training has seen." if coded else "")
    )
    return Picture(f"Density of perturbations ({net_name(records[0])})", caption, figure)


def _bars(ax: Axes, groups: Sequence[str], rows: dict[str, list[float]]) -> None:
    styles = {
        "clean_delta": ("clean perturbation", CLEAN),
        "robust_delta": ("adversarial perturbation", ROBUST),
        "image": ("image", OTHER),
    }
    for index, (name, heights) in enumerate(rows.items()):
        label, color = styles[name]
        place = np.arange(len(groups)) + (index - 1) * 0.26
        ax.bar_label(
            ax.bar(place, heights, 0.24, color=color, label=label), fmt="%.0f", fontsize=7, color=INK
        )
    ax.set_xticks(np.arange(len(groups)), groups)


def draw_codes(records: Sequence[Record]) -> Picture:
    """Sparsity-error curves of images and of perturbations, one row per weight decay."""
    figure = Figure(figsize=(10.2, 2.9 * len(records)), layout="constrained")
    axes = figure.subplots(len(records), 3, squeeze=False, sharey=True)
    from_filters = (
        ("start", "start", FAINT, "-"),
        ("noise", "blurred noise", NOISE, "--"),
        ("clean", "clean", CLEAN, "-"),
        ("clean blurred", "clean, blurred 3×3", CLEAN, "--"),
        ("robust", "adversarial", ROBUST, "-"),
    )
    targets = (
        ("clean_delta", "clean perturbation", CLEAN, "-"),
        ("robust_delta", "adversarial perturbation", ROBUST, "-"),
        ("image", "image", OTHER, "--"),
    )
    for row, record in zip(axes, records, strict=True):
        curves, decay = record.values["curves"], f"decay {record.config['weight_decay']:g}"
        for name, label, color, style in from_filters:
            _curve(row[0], curves[f"image|{name}"], label, color, style)
        for ax, source in ((row[1], "robust"), (row[2], "noise")):
            for name, label, color, style in targets:
                _curve(ax, curves[f"{name}|{source}"], label, color, style)
        names = (f"Images, {decay}", "From adversarial filters", "From blurred noise")
        for ax, title in zip(row, names, strict=True):
            ax.set_yscale("log")
            ax.set_ylim(0.02, 1.05)
            ax.set_yticks([0.03, 0.1, 0.3, 1], ["0.03", "0.1", "0.3", "1"])
            ax.minorticks_off()
            last = record is records[-1]
            y = "relative squared error" if ax is row[0] else ""
            legend = record is records[0]
            finish(ax, x="non-zero coefficients" if last else "", y=y, title=title, legend=legend)
    size = records[0].values["atoms"]
    gap = max(curve["gap"] for record in records for curve in record.values["curves"].values())
    caption = (
        f"Convolutional Lasso on {len(records[0].values['curves']['image|robust']['at']['0.5'])} images, "
        f"{size['code']} unit atoms for {size['pixels']} pixel values; means per weight of the l1 norm "
        f"(duality gap at most {gap:.1%} of the energy). Left: images from the filters of each net and "
        "two smooth controls. Middle and right: perturbations rescaled to their images, from adversarial "
        "filters, of which the adversarial net's perturbations are sums, and from atoms that no training "
        "has seen."
    )
    return Picture("Sparse codes, with controls", caption, figure)


def _curve(ax: Axes, curve: dict[str, Any], label: str, color: str, style: str) -> None:
    shown = "#B0B0B0" if color == FAINT else color
    ax.plot([0, *curve["counts"]], [1, *curve["errors"]], style, color=shown, label=label, linewidth=1.6)


def draw_activity(records: Sequence[Record]) -> Picture:
    """Share of active neurons over the epochs, and the lottery of the first layer where it was watched."""
    watched = "lottery" in records[0].values
    figure = Figure(figsize=(3.6 * len(records), 5.2) if watched else (4.6, 3.1), layout="constrained")
    axes = figure.subplots(2 if watched else 1, len(records), squeeze=False)
    for column, record in enumerate(records):
        clean, robust = (np.array(record.values["activity"][name]) for name in ("clean", "robust"))
        whole = np.concatenate([clean, robust[1:]])
        ax = axes[0, column]
        layers = whole.shape[1]
        shown = range(layers) if layers <= 6 else np.linspace(0, layers - 1, 5).astype(int)
        for index, layer in enumerate(shown):
            color = PALETTE[index % len(PALETTE)]
            ax.plot(whole[:, layer], color=color, linewidth=1.4, label=f"layer {layer + 1}")
        ax.axvspan(len(clean) - 1, len(whole) - 1, color=ROBUST, alpha=0.12, linewidth=0)
        ax.set_ylim(0, 0.75)
        finish(ax, x="epoch", y="share active", title=decay(record, long=True), legend=column == 0)
        if ax.get_legend():
            ax.legend(frameon=False, fontsize=7, ncols=3, loc="upper right")
        if watched:
            _lottery(axes[1, column], record, legend=column == 0)
    caption = (
        "Share of positive pre-activations on 250 test images per rectifier; shaded: adversarial training."
        + (
            " Below: cosine of first-layer filters during clean training with the filter each ends as, with "
            "those of the others, and the share of others that are less correlated with it (chance 1/2). "
            "Where the start is not forgotten the lead at epoch 0 is the start itself."
            if watched
            else ""
        )
    )
    return Picture(f"Activity over training ({net_name(records[0])})", caption, figure)


def _lottery(ax: Axes, record: Record, *, legend: bool) -> None:
    lottery = record.values["lottery"]
    ax.plot(lottery["own"], color=PALETTE[2], linewidth=1.6, label="own final filter")
    ax.plot(lottery["others"], color=OTHER, linewidth=1.4, label="others' final filters")
    ax.plot(lottery["rank"], ":", color=INK, linewidth=1.4, label="rank of the own")
    ax.axhline(0.5, color=FAINT, linewidth=1)
    ax.set_ylim(-0.1, 1.05)
    start = f"First layer: rank at the start {lottery['rank'][0]:.2f}"
    finish(ax, x="epoch of clean training", y="cosine, rank", title=start, legend=legend)


def _level(records: Sequence[Record], names: Sequence[str]) -> str:
    """The smallest error that all codes reach."""
    levels = list(records[0].values["curves"][names[0]]["at"])
    for level in levels:
        found = [r.values["curves"][name]["at"][level] for r in records for name in names]
        if np.isfinite(np.concatenate(found)).all():
            return str(level)
    return str(levels[-1])


def decay(record: Record, *, long: bool = False) -> str:
    """The weight decay of a record as a label, with the learning rate as a title."""
    value = f"{record.config['weight_decay']:g}"
    return f"Weight decay {value}, rate {record.config['lr']:g}" if long else f"decay {value}"


def net_name(record: Record) -> str:
    """The network of a record as people write it."""
    kind, _, sizes = record.config["network"].partition(":")
    name = {"alexnet": "AlexNet", "resnet": "ResNet", "preact34": "ResNet-34"}.get(kind, kind)
    return f"{name}({sizes})" if sizes else name


def source_name(record: Record) -> str:
    """The images of a record as people write them."""
    return SOURCES.get(record.config["source"], record.config["source"])
