"""Density of perturbations, sparse codes with their controls, and activity of image nets over training."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.purification.experiments.alexnet import AlexnetConfig, AlexnetResult
from karat.papers.purification.experiments.image_codes import CodeCurve
from karat.papers.purification.experiments.image_measures import Lottery
from karat.papers.purification.experiments.image_setting import ImageSetting
from karat.papers.purification.experiments.resnet_pictures import ResnetPicturesConfig, ResnetPicturesResult
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.run import Run

AlexnetRun = Run[AlexnetConfig, AlexnetResult]
ResnetRun = Run[ResnetPicturesConfig, ResnetPicturesResult]

CLEAN, ROBUST, OTHER, NOISE = PALETTE[1], PALETTE[0], "#8C8C8C", PALETTE[4]
"""Clean nets in vermilion, robust ones in blue, images and controls in grey."""

SOURCES = {"digits": "embedded digits", "cifar10": "CIFAR-10", "cifar10_pair": "CIFAR-10 airplane/automobile"}


DRAWN = ("clean_delta", "robust_delta", "image")
"""What is measured in every basis."""


def draw_density(runs: Sequence[AlexnetRun | ResnetRun]) -> Picture:
    """Effective numbers of waves, of principal components and, where measured, of neutral atoms.

    Args:
        runs: one per weight decay.
    """
    codes = [run.result.curves for run in runs if isinstance(run.result, AlexnetResult)]
    figure, axes = new_figure(3 if codes else 2, width=3.1, height=2.9)
    configs = [run.config for run in runs]
    labels = [decay(config) if len(runs) > 1 else net_name(config) for config in configs]
    table = [run.result.density for run in runs]
    for ax, basis, title in ((axes[0], "dct", "Waves (DCT)"), (axes[1], "pca", "Principal components")):
        bars = {name: [row[name][basis].participation for row in table] for name in DRAWN}
        _bars(ax, labels, bars)
        finish(ax, x="", y="effective number", title=title, legend=ax is axes[0])
        ax.set_ylim(
            0, (1.5 if ax is axes[0] else 1.15) * (max(max(heights) for heights in bars.values()) or 1.0)
        )
    if codes:
        level = _level(codes, [f"{name}|noise" for name in DRAWN])
        counts = {name: [float(np.mean(row[f"{name}|noise"].at[level])) for row in codes] for name in DRAWN}
        _bars(axes[2], labels, counts)
        axes[2].set_ylim(0, 1.15 * (max(max(heights) for heights in counts.values()) or 1.0))
        finish(axes[2], x="", y=f"non-zeros at error {level}", title="Blurred-noise atoms", legend=False)
    noise = table[0]["noise"]["dct"].participation
    caption = (
        "Left: participation ratio (Σc²)²/Σc⁴ of perturbations in cosine waves and in the principal "
        f"components of the training images, mean over images; white noise has {noise:.0f}."
        + (" Right: Lasso codes from smooth atoms that no training has seen." if codes else "")
    )
    return Picture(f"Density of perturbations ({net_name(configs[0])})", caption, figure)


def _bars(ax: Axes, groups: Sequence[str], rows: Mapping[str, Sequence[float]]) -> None:
    styles = {
        "clean_delta": ("clean perturbation", CLEAN),
        "robust_delta": ("adversarial perturbation", ROBUST),
        "image": ("image", OTHER),
    }
    for index, (name, heights) in enumerate(rows.items()):
        label, color = styles[name]
        x = np.arange(len(groups)) + (index - 1) * 0.26
        ax.bar_label(ax.bar(x, heights, 0.24, color=color, label=label), fmt="%.0f", fontsize=7, color=INK)
    ax.set_xticks(np.arange(len(groups)), groups)


def draw_codes(runs: Sequence[AlexnetRun]) -> Picture:
    """Sparsity-error curves of images and of perturbations, one row per weight decay.

    Args:
        runs: one per weight decay.
    """
    figure = Figure(figsize=(10.2, 2.9 * len(runs)), layout="constrained")
    axes = figure.subplots(len(runs), 3, squeeze=False, sharey=True)
    for row, run in zip(axes, runs, strict=True):
        _draw_code_row(row, run, first=run is runs[0], last=run is runs[-1])
    size = runs[0].result.atoms
    gap = max(curve.gap for run in runs for curve in run.result.curves.values())
    images = len(runs[0].result.curves["image|robust"].at["0.5"])
    caption = (
        f"Convolutional Lasso on {images} images, "
        f"{size.code} unit atoms for {size.pixels} pixel values; means per weight of the l1 norm "
        f"(duality gap at most {gap:.1%} of the energy). Left: images from the filters of each net and "
        "two smooth controls. Middle and right: perturbations rescaled to their images, from adversarial "
        "filters, of which the adversarial net's perturbations are sums, and from atoms that no training "
        "has seen."
    )
    return Picture("Sparse codes, with controls", caption, figure)


def _draw_code_row(row: Sequence[Axes], run: AlexnetRun, *, first: bool, last: bool) -> None:
    """Images from all filters, then everything from robust filters and from blurred noise."""
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
    curves = run.result.curves
    for name, label, color, style in from_filters:
        _curve(row[0], curves[f"image|{name}"], label, color, style)
    for ax, source in ((row[1], "robust"), (row[2], "noise")):
        for name, label, color, style in targets:
            _curve(ax, curves[f"{name}|{source}"], label, color, style)
    # The legend stands beside the long curve of the start.
    row[0].set_xlim(right=1.7 * row[0].get_xlim()[1])
    titles = (f"Images, {decay(run.config)}", "From adversarial filters", "From blurred noise")
    for ax, title in zip(row, titles, strict=True):
        ax.set_yscale("log")
        ax.set_ylim(0.02, 1.05)
        ax.set_yticks([0.03, 0.1, 0.3, 1], ["0.03", "0.1", "0.3", "1"])
        ax.minorticks_off()
        y = "relative squared error" if ax is row[0] else ""
        finish(ax, x="non-zero coefficients" if last else "", y=y, title=title, legend=first)


def _curve(ax: Axes, curve: CodeCurve, label: str, color: str, style: str) -> None:
    visible = "#B0B0B0" if color == FAINT else color
    ax.plot([0, *curve.counts], [1, *curve.errors], style, color=visible, label=label, linewidth=1.6)


def draw_activity(runs: Sequence[AlexnetRun | ResnetRun]) -> Picture:
    """Share of active neurons over the epochs, and the lottery of the first layer where it was watched.

    Args:
        runs: one per weight decay.
    """
    lotteries = [run.result.lottery for run in runs if isinstance(run.result, AlexnetResult)]
    figure = Figure(figsize=(3.6 * len(runs), 5.2) if lotteries else (4.6, 3.1), layout="constrained")
    axes = figure.subplots(2 if lotteries else 1, len(runs), squeeze=False)
    for column, run in enumerate(runs):
        _draw_layers(axes[0, column], run, legend=column == 0)
    for column, lottery in enumerate(lotteries):
        _draw_lottery(axes[1, column], lottery, legend=column == 0)
    caption = (
        "Share of positive pre-activations on 250 test images per rectifier; shaded: adversarial training."
        + (
            " Below: cosine of first-layer filters during clean training with the filter each ends as, with "
            "those of the others, and the share of others that are less correlated with it (chance 1/2)."
            if lotteries
            else ""
        )
    )
    return Picture(f"Activity over training ({net_name(runs[0].config)})", caption, figure)


def _draw_layers(ax: Axes, run: AlexnetRun | ResnetRun, *, legend: bool) -> None:
    """Shares over clean and then adversarial training, at no more than six layers."""
    clean, robust = (np.array(run.result.activity[stage]) for stage in ("clean", "robust"))
    shares = np.concatenate([clean, robust[1:]])
    layers = shares.shape[1]
    drawn = range(layers) if layers <= 6 else np.linspace(0, layers - 1, 5).astype(int)
    for index, layer in enumerate(drawn):
        color = PALETTE[index % len(PALETTE)]
        ax.plot(shares[:, layer], color=color, linewidth=1.4, label=f"layer {layer + 1}")
    ax.axvspan(len(clean) - 1, len(shares) - 1, color=ROBUST, alpha=0.12, linewidth=0)
    ax.set_ylim(0, 0.75)
    finish(ax, x="epoch", y="share active", title=decay(run.config, long=True), legend=legend)
    if ax.get_legend():
        ax.legend(frameon=False, fontsize=7, ncols=3, loc="upper right")


def _draw_lottery(ax: Axes, lottery: Lottery, *, legend: bool) -> None:
    """Cosines of filters with the filters they end as, and with those of the others."""
    ax.plot(lottery.own, color=PALETTE[2], linewidth=1.6, label="own final filter")
    ax.plot(lottery.others, color=OTHER, linewidth=1.4, label="others' final filters")
    ax.plot(lottery.rank, ":", color=INK, linewidth=1.4, label="rank of the own")
    ax.axhline(0.5, color=FAINT, linewidth=1)
    ax.set_ylim(-0.1, 1.05)
    title = f"First layer: rank at the start {lottery.rank[0]:.2f}"
    finish(ax, x="epoch of clean training", y="cosine, rank", title=title, legend=legend)


def _level(codes: Sequence[Mapping[str, CodeCurve]], names: Sequence[str]) -> str:
    """The smallest error that all codes reach."""
    levels = list(codes[0][names[0]].at)
    for level in levels:
        counts = [curves[name].at[level] for curves in codes for name in names]
        if np.isfinite(np.concatenate(counts)).all():
            return level
    return levels[-1]


def decay(config: ImageSetting, *, long: bool = False) -> str:
    """The weight decay of a run as a label, with the learning rate as a title."""
    value = f"{config.weight_decay:g}"
    return f"Weight decay {value}, rate {config.lr:g}" if long else f"decay {value}"


def net_name(config: ImageSetting) -> str:
    """The network of a run as people write it."""
    kind, _, sizes = config.network.partition(":")
    name = {"alexnet": "AlexNet", "resnet": "ResNet", "preact34": "ResNet-34"}.get(kind, kind)
    return f"{name}({sizes})" if sizes else name


def source_name(config: ImageSetting) -> str:
    """The images of a run as people write them."""
    return SOURCES[config.source]
