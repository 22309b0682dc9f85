"""What the first filters of a net leave of the worst image, before training."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from karat.papers.purification.experiments.untrained_span import (
    UNTRAINED_SPAN,
    UntrainedSpanConfig,
    UntrainedSpanResult,
)
from karat.study.drawing.image_labels import network_label
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, PALETTE, finish
from karat.study.run import Run, grouped

FLOOR = 1e-20
"""Of the axis."""


def draw_span(runs: Sequence[Run[UntrainedSpanConfig, UntrainedSpanResult]]) -> list[Picture]:
    """Draw the error of the worst image over the number of atoms.

    Ref: purification, Rem 8.2
    """
    if not runs:
        return []
    figure = Figure(figsize=(5.4, 3.3), layout="constrained")
    ax = figure.subplots()
    nets = grouped(runs, lambda run: run.config.network)
    for color, (network, drawn) in zip(PALETTE, nets.items(), strict=False):
        share = [run.result.atoms / run.config.pixels for run in drawn]
        error = [max(run.result.worst, FLOOR) for run in drawn]
        ax.plot(share, error, "o", color=color, markersize=5, alpha=0.7, label=network_label(network))
    ax.axvline(1.0, color=FAINT, linewidth=1)
    for printed, name in ((5e-5, "printed, AlexNet"), (1e-9, "printed, ResNet")):
        ax.axhline(printed, color="#8A8A8A", linewidth=1, linestyle=(0, (4, 3)))
        ax.annotate(name, (0.01, printed), xycoords=("axes fraction", "data"), va="bottom", fontsize=7.5)
    ax.set_yscale("log")
    ax.set_ylim(FLOOR, 10)
    ax.set_xlim(0, 1.15 * max(run.result.atoms / run.config.pixels for run in runs))
    finish(ax, x="atoms per pixel value", y="relative squared error, worst image")
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    caption = (
        "First-layer filters as they were drawn, at all places of their convolution: error of the best "
        "regression on them, of the image that they fit worst. One dot per seed and number of filters. "
        "Dashed: errors that the paper prints for perturbations and trained filters."
    )
    return [Picture("What untrained filters span", caption, figure)]


FIGURES = (Drawing(UNTRAINED_SPAN, draw_span),)
