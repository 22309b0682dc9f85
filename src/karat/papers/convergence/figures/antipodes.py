"""Figures of nets without biases: training on antipodes, and the floors below all their losses."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.checks.antipodes import AntipodesRun
from karat.papers.convergence.experiments.antipodes import PARITY, QUADRATIC
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped

_DATA = {
    "apart": "apart up to sign",
    "opposite": "antipodes, different labels",
    "ring": "ring of antipodes",
    "same": "antipodes, equal labels",
}


def draw_training(runs: Sequence[AntipodesRun]) -> list[Picture]:
    """The smallest loss so far over steps for each kind of data, with the certified floor.

    Ref: convergence, Cor C.1
    """
    if not runs:
        return []
    config = max((run.config for run in runs), key=lambda config: config.m)
    widest = [run for run in runs if run.config.m == config.m]
    figure, (ax,) = new_figure(1, width=5.6, height=3.4)
    ax.set_xscale("log")
    floors = []
    for index, (data, cells) in enumerate(grouped(widest, lambda run: run.config.data).items()):
        steps = np.array(cells[0].result.observed)
        table = np.array([run.result.losses for run in cells])
        draw_series(ax, steps, table, _DATA.get(data, data), color=PALETTE[index], marker="")
        floors += [run.result.floor for run in cells if run.result.floor > 0]
    if floors:
        ax.axhline(max(floors), color=INK, linewidth=1.0, linestyle=":", label="floor at every width")
    ax.axhline(config.tol, color=INK, linewidth=1.0, linestyle="--", label="tol")
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    finish(ax, x="step", y=r"$\min_t L_A(W_t)$", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    caption = (
        f"Adversarial training of quadratic-ReLU nets of width {config.m} in R^{config.d}. Dotted: "
        "certified lower bound on the loss of every such net without biases on the ring. "
        f"{seeds_note(widest)}"
    )
    return [Picture("Quadratic ReLU and antipodes", caption, figure)]


def draw_floors(runs: Sequence[AntipodesRun]) -> list[Picture]:
    """Smallest losses in training against the certified floor of their data set.

    Ref: convergence, Cor C.1
    """
    obstructed = [run for run in runs if run.result.floor > 0]
    if not obstructed:
        return []
    figure, (ax,) = new_figure(1, width=4.4, height=3.4)
    widths = sorted({run.config.m for run in obstructed})
    for index, (activation, cells) in enumerate(
        grouped(obstructed, lambda run: run.config.activation).items()
    ):
        _draw_points(ax, cells, activation.replace("_", " "), index, widths)
    limit = 1.08 * max(max(run.result.floor, run.result.best_loss) for run in obstructed)
    ax.plot([0, limit], [0, limit], color=INK, linewidth=1.0, linestyle=":", label="equal")
    ax.set_xlim(0, limit)
    ax.set_ylim(0, limit)
    finish(ax, x="certified floor", y="smallest loss in training", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    config = obstructed[0].config
    caption = (
        f"{config.n // 2} antipodal pairs in R^{config.d} with equal labels for the quadratic ReLU and "
        "opposite ones for the others; one point per data set and width, widths "
        f"{', '.join(map(str, widths))} (larger markers are wider nets)."
    )
    return [Picture("Floors of nets without biases", caption, figure)]


def _draw_points(ax: Axes, cells: Sequence[AntipodesRun], name: str, index: int, widths: list[int]) -> None:
    """A hollow marker for every run, larger for wider nets."""
    floors = [run.result.floor for run in cells]
    losses = [run.result.best_loss for run in cells]
    sizes = [25 + 30 * widths.index(run.config.m) for run in cells]
    ax.scatter(
        floors,
        losses,
        s=sizes,
        marker="osD^v"[index % 5],
        facecolors="none",
        edgecolors=PALETTE[index % 7],
        label=name,
    )


FIGURES = (Drawing(QUADRATIC, draw_training), Drawing(PARITY, draw_floors))
