"""Figure of attacks: the loss under one perturbation function after training against another."""

from collections.abc import Sequence

import numpy as np

from karat.papers.convergence.checks.transfer import TransferRun
from karat.papers.convergence.experiments.transfer import OTHERS, TRANSFER
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import finish, new_figure
from karat.study.run import grouped

_NAMES = ("worst", *OTHERS)


def draw_transfer(runs: Sequence[TransferRun]) -> list[Picture]:
    """Mean losses, a row per training attack and a column per attack that looks on.

    Ref: convergence, Sec 7
    """
    by_attack = grouped(runs, lambda run: run.config.attack)
    rows = [name for name in _NAMES if name in by_attack]
    if not rows:
        return []
    table = np.array([np.mean([_losses(run) for run in by_attack[name]], axis=0) for name in rows])
    figure, (ax,) = new_figure(1, width=4.6, height=0.5 * len(rows) + 1.0)
    ax.imshow(table, cmap="Blues", vmin=0, vmax=1.15 * float(table.max()), aspect="auto")
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            dark = value > 0.7 * table.max()
            ax.text(
                j, i, f"{value:.3f}", ha="center", va="center", color="white" if dark else "black", fontsize=9
            )
    ax.set_xticks(range(len(_NAMES)), [name.replace("_", "-") for name in _NAMES])
    ax.set_yticks(range(len(rows)), [name.replace("_", "-") for name in rows])
    finish(ax, x="loss under", y="trained against", legend=False)
    ax.grid(visible=False)
    config = runs[0].config
    caption = (
        f"Paired two-layer nets, m = {config.m}, caps of radius {config.tau:g}; surrogate losses at the "
        "step at which that of training is smallest. The first column is the robust loss. Means over "
        f"{len({run.seed for run in runs})} seeds."
    )
    return [Picture("What other attacks see", caption, figure)]


def _losses(run: TransferRun) -> list[float]:
    result = run.result
    return [result.robust, result.one_step, result.identity, result.random, result.hashed]


FIGURES = (Drawing(TRANSFER, draw_transfer),)
