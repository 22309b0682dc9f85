"""The angles of Figure 2 by layer and by epoch."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.purification.experiments.layer_angles import LayerAngles
from karat.papers.purification.experiments.theta import THETA, ThetaConfig, ThetaResult
from karat.papers.purification.figures.drawings import CLEAN, ROBUST
from karat.probes.cosines import LARGE, SMALL
from karat.study.drawing.image_labels import GREY
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish
from karat.study.run import Run, by_setting

R = TypeVar("R")
ThetaRuns = Sequence[Run[ThetaConfig, ThetaResult]]


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
        "Bands: at most 0.2, where the principle puts theta(w0, w), theta(w0, w') and pairs, and at least "
        "0.8, where it puts theta(w, w'). Exponent: weight decay times summed rates over 1 - momentum; e to "
        "minus it is what is left of an idle first weight. Control: the same further epochs without attacker."
    )
    first = Picture("Angles of the filters by layer", caption, figure)
    return [first, _epochs(groups)]


Line = tuple[Callable[[R], list[float]], str, str, str, str, float]
"""What is drawn: the value, its label, colour, line, marker and the size of the marker."""

# Markers of the first two often cover each other: the wide one is drawn first.
LINES: Sequence[Line[LayerAngles]] = (
    (lambda r: r.start_clean, r"$\theta(w_0, w)$: start and clean", CLEAN, "-", "o", 8.0),
    (lambda r: r.start_robust, r"$\theta(w_0, w')$: start and robust", ROBUST, "--", "s", 4.0),
    (lambda r: r.clean_robust, r"$\theta(w, w')$: clean and robust", "black", "-", "D", 5.0),
    (lambda r: r.pairs, r"$\theta(w_i, w_j)$: pairs of clean filters", PALETTE[2], ":", "^", 5.0),
)

CONTROL: Line[ThetaResult] = (
    lambda r: r.clean_control,
    r"control: clean and more clean",
    GREY,
    "--",
    "D",
    5.0,
)


def _layers(ax: Axes, group: ThetaRuns) -> None:
    result = group[0].result
    layers = result.layers
    x = np.arange(len(layers))
    bands(ax)
    ax.step(x, result.chance, where="mid", color=GREY, linewidth=0.9, label="chance")
    lines: Sequence[Line[ThetaResult]] = (*LINES, CONTROL)
    for angles, label, color, line, marker, size in lines:
        mean = np.mean([angles(run.result) for run in group], axis=0)
        ax.plot(x, mean, line, marker=marker, color=color, markersize=size, linewidth=1.4, label=label)
    decay, exponent = group[0].config.weight_decay, result.decay_exponent
    finish(ax, x="", y="", title=f"weight decay {decay:g} (exponent {exponent:.1f})", legend=False)
    step = max(1, len(layers) // 6)
    ax.set_xticks(x[::step], [layers[i] for i in x[::step]], rotation=0 if step == 1 else 30)
    ax.set_ylim(0, 1.03)
    text = f"robust accuracy {result.clean.strong:.0%} to {result.robust.strong:.0%}"
    ax.text(0.98, 0.5, text, transform=ax.transAxes, ha="right", fontsize=8, color=INK)


def bands(ax: Axes) -> None:
    """Shade what the principle of feature purification calls small and large.

    Args:
        ax: to draw on.
    """
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
        "Seed 0. Above: angle to the first weights. Below: angle to the clean net in adversarial training "
        "(dots) and in the same epochs of clean training (dashed) from it; grey: robust accuracy of the "
        "former."
    )
    return Picture("Angles over the epochs", caption, figure)


FIGURES = (Drawing(THETA, draw_theta),)
