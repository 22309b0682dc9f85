"""The angles of Figure 2 by layer and by epoch, and the frozen layers of Section 8.2."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.purification.experiments.freezing import FREEZING, FreezingResult
from karat.papers.purification.experiments.frozen_stages import FreezingConfig
from karat.papers.purification.experiments.theta import THETA, ThetaConfig, ThetaResult
from karat.papers.purification.figures.drawings import CLEAN, ROBUST
from karat.probes.cosines import LARGE, SMALL
from karat.study.drawing.image_labels import GREY, SETS, dot, network_label, patch
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish
from karat.study.run import Run, by_setting

ThetaRuns = Sequence[Run[ThetaConfig, ThetaResult]]
FreezingRuns = Sequence[Run[FreezingConfig, FreezingResult]]


def draw_theta(runs: ThetaRuns) -> list[Picture]:
    """Draw theta per layer at every weight decay, and theta over the epochs.

    Ref: purification, Fig 2
    """
    groups = sorted(by_setting(runs), key=lambda group: group[0].result.decay_exponent)
    if not groups:
        return []
    figure = Figure(figsize=(3.5 * len(groups), 3.6), layout="constrained")
    axes = figure.subplots(1, len(groups), squeeze=False, sharey=True)[0]
    for ax, group in zip(axes, groups, strict=True):
        _layers(ax, group)
    axes[0].set_ylabel(r"$\theta = |\cos|$, mean over live filters", color=INK)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    caption = (
        "Principle: theta(w0, w) and theta(w0, w') in the lower band (at most 0.2), theta(w, w') in the "
        "upper one (at least 0.8), pairs in the lower one. Exponent: weight decay times summed rates over "
        "1 - momentum; e to minus it is what is left of an idle first weight, and only where that is small "
        "is the start forgotten. Control: how far the same epochs of clean training turn the filters."
    )
    first = Picture("Angles of the filters by layer", caption, figure)
    return [first, _epochs(groups)]


LINES = (
    ("start_clean", r"$\theta(w_0, w)$: start and clean", CLEAN, "-", "o"),
    ("start_robust", r"$\theta(w_0, w')$: start and robust", ROBUST, "--", "s"),
    ("clean_robust", r"$\theta(w, w')$: clean and robust", "black", "-", "D"),
    ("clean_control", r"control: clean and more clean", GREY, "--", "D"),
    ("pairs", r"$\theta(w_i, w_j)$: pairs of clean filters", PALETTE[2], ":", "^"),
)
"""What is drawn: name of the value, label, colour, line and marker."""

SIZES = {"start_clean": 8.0, "start_robust": 4.0}
"""Markers that often cover each other, the wide one drawn first."""


def _layers(ax: Axes, group: ThetaRuns) -> None:
    result = group[0].result
    layers = result.layers
    x = np.arange(len(layers))
    _bands(ax)
    ax.step(x, result.chance, where="mid", color=GREY, linewidth=0.9, label="chance")
    for name, label, color, line, marker in LINES:
        mean = np.mean([getattr(run.result, name) for run in group], axis=0)
        size = SIZES.get(name, 5.0)
        ax.plot(x, mean, line, marker=marker, color=color, markersize=size, linewidth=1.4, label=label)
    decay, exponent = group[0].config.weight_decay, result.decay_exponent
    finish(ax, x="", y="", title=f"weight decay {decay:g} (exponent {exponent:.1f})", legend=False)
    step = max(1, len(layers) // 6)
    ax.set_xticks(x[::step], [layers[i] for i in x[::step]], rotation=0 if step == 1 else 30)
    ax.set_ylim(0, 1.03)
    text = f"robust accuracy {result.clean.strong:.0%} to {result.robust.strong:.0%}"
    ax.text(0.98, 0.5, text, transform=ax.transAxes, ha="right", fontsize=8, color=INK)


def _bands(ax: Axes) -> None:
    """Where the principle wants small and large angles."""
    ax.axhspan(0, SMALL, color=FAINT, alpha=0.45, linewidth=0, zorder=0)
    ax.axhspan(LARGE, 1, color=FAINT, alpha=0.45, linewidth=0, zorder=0)


def _epochs(groups: Sequence[ThetaRuns]) -> Picture:
    figure = Figure(figsize=(3.5 * len(groups), 4.8), layout="constrained")
    axes = figure.subplots(2, len(groups), squeeze=False, sharey="row")
    for column, group in enumerate(groups):
        result = group[0].result
        top, bottom = axes[:, column]
        names = result.layers
        # Deep nets have too many layers for one panel: the first, the middle and the last stand for them.
        layers = sorted({0, len(names) // 2, len(names) - 1}) if len(names) > 5 else range(len(names))
        for index, layer in enumerate(layers):
            color = PALETTE[index % len(PALETTE)]
            top.plot([row[layer] for row in result.clean_curve], color=color, label=names[layer])
            bottom.plot([row[layer] for row in result.robust_curve], "o-", color=color, markersize=3)
            bottom.plot([row[layer] for row in result.control_curve], "--", color=color, linewidth=1)
        title = f"weight decay {group[0].config.weight_decay:g}"
        finish(top, x="epochs of clean training", y="", title=title, legend=column == 0)
        finish(bottom, x="further epochs", y="", legend=False)
        top.axhspan(0, SMALL, color=FAINT, alpha=0.45, linewidth=0, zorder=0)
        bottom.set_xticks(range(len(result.robust_curve)))
        for epoch, share in enumerate(result.robust_curve_accuracy):
            bottom.annotate(
                f"{share:.0%}",
                (epoch, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=GREY,
            )
    axes[0, 0].set_ylabel(r"$\theta(w_0, w)$", color=INK)
    axes[1, 0].set_ylabel(r"$\theta(w, w')$", color=INK)
    # Room for the accuracies below the curves.
    low, high = axes[1, 0].get_ylim()
    axes[1, 0].set_ylim(low - 0.12 * (high - low), high)
    caption = (
        "Seed 0. Above: how the first weights are forgotten. Below: adversarial training (dots) and the same "
        "epochs of clean training (dashed) from the same net; grey: robust accuracy of the former."
    )
    return Picture("Angles over the epochs", caption, figure)


def draw_freezing(runs: FreezingRuns) -> list[Picture]:
    """Draw robust accuracy after each stage, and the angles of the layer that was drawn anew.

    Ref: purification, Sec 8.2; purification, Fig 11
    """
    pictures = []
    for group in by_setting(runs):
        figure = Figure(figsize=(9.0, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _stages(left, group)
        _frozen_angles(right, group)
        caption = (
            "Stage 1 trains the whole net adversarially; everything below the named layer is then frozen bit "
            "for bit and the rest drawn anew, trained clean (stage 2), then adversarially (stage 3). The "
            "paper reports 0% after stage 2. At the first layer nothing is frozen, which is plain clean "
            "training: what frozen robust layers pass on is the difference to it. Bars: strong noise-free "
            "attack, with the 95% interval of the share; dots: clean accuracy."
        )
        config = group[0].config
        title = f"Frozen robust layers, {network_label(config.network)}, {SETS[config.source]}"
        pictures.append(Picture(title, caption, figure))
    return pictures


def _stages(ax: Axes, group: FreezingRuns) -> None:
    config, result = group[0].config, group[0].result
    size = result.images_attacked(config)
    stages = (
        (-0.2, [run.result.stage2 for run in group], CLEAN),
        (0.2, [run.result.stage3 for run in group], ROBUST),
    )
    for shift, scores, color in stages:
        strong = np.mean([score.strong for score in scores], axis=0)
        clean = np.mean([score.accuracy for score in scores], axis=0)
        x = np.arange(len(strong)) + shift
        half = 1.96 * np.sqrt(np.maximum(strong * (1 - strong), 1 / size) / size)
        ax.bar(x, strong, 0.36, color=color, zorder=2)
        ax.vlines(x, np.maximum(strong - half, 0), strong + half, color=INK, linewidth=0.9, zorder=4)
        ax.plot(x, clean, "o", color="white", markeredgecolor=color, markersize=5, zorder=5)
        for middle, value, top in zip(x, strong, strong + half, strict=True):
            ax.text(
                middle,
                top + 0.01,
                f"{100 * value:.0f}",
                ha="center",
                fontsize=8,
                color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=6,
            )
    first = float(np.mean([run.result.stage1.strong for run in group]))
    ax.axhline(first, color=INK, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    layers = config.layers
    ax.text(len(layers) - 0.45, first, "stage 1", fontsize=8, color=INK, va="bottom", ha="right")
    finish(ax, x="first layer drawn anew", y="robust accuracy", title="After stages 2 and 3", legend=False)
    names = [
        f"{layer}\n(all)" if count == 0 else layer
        for layer, count in zip(layers, result.frozen_tensors, strict=True)
    ]
    ax.set_xticks(range(len(layers)), names)
    ax.grid(visible=False, axis="x")
    ax.legend(
        handles=[patch(CLEAN, "stage 2: clean"), patch(ROBUST, "stage 3: adversarial"), dot()],
        frameon=False,
        fontsize=8,
        ncols=3,
        loc="upper center",
    )
    ax.set_ylim(0, 1.25 * max(max(run.result.stage2.accuracy) for run in group))


def _frozen_angles(ax: Axes, group: FreezingRuns) -> None:
    layers = group[0].config.layers
    x = np.arange(len(layers))
    _bands(ax)
    for name, label, color, line, marker in LINES:
        if hasattr(group[0].result, name):  # there is no control above frozen layers
            mean = np.mean([getattr(run.result, name) for run in group], axis=0)
            short = label.partition(":")[0]
            size = SIZES.get(name, 5.0)
            ax.plot(x, mean, line, marker=marker, color=color, markersize=size, linewidth=1.4, label=short)
    ax.step(x, group[0].result.chance, where="mid", color=GREY, linewidth=0.9, label="chance")
    finish(ax, x="", y=r"$\theta$ at this layer", title="Angles of the layer drawn anew")
    ax.set_xticks(x, layers)
    ax.set_ylim(0, 1.03)


FIGURES = (Drawing(THETA, draw_theta), Drawing(FREEZING, draw_freezing))
