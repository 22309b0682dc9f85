"""Figure of the printed algorithm, piece by piece."""

import numpy as np

from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.printed import PRINTED, PrintedResult
from karat.papers.purification.figures.drawings import GOLD, ROBUST, table
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, finish, new_figure
from karat.study.run import Runs, by_setting


def draw_printed(runs: Runs[OddNetConfig, PrintedResult]) -> list[Picture]:
    """Live neurons and accuracy by which pieces of the algorithm are as printed."""
    if not runs:
        return []
    size = min(run.config.d for run in runs)
    groups = by_setting([run for run in runs if run.config.d == size])
    figure, (ax,) = new_figure(1, width=6.4, height=3.2)
    rows = np.arange(len(groups))
    live = [table(group, lambda r: r.live).mean() for group in groups]
    accuracy = [table(group, lambda r: r.accuracy).mean() for group in groups]
    ax.barh(rows - 0.19, live, 0.36, color=ROBUST, label="live neurons")
    ax.barh(rows + 0.19, accuracy, 0.36, color=GOLD, label="clean accuracy")
    ax.axvline(0.5, color=INK, linewidth=1, linestyle="--")
    ax.set_yticks(rows, [printed_pieces(group[0].config) for group in groups])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    finish(ax, x="share", y="", title=f"d = {size}", legend=False)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    first = groups[0][0].result
    caption = (
        f"Clean training with some pieces of Algorithm 1 as printed, mean of {len(groups[0])} seeds. A net "
        "that sleeps predicts +1. At the last printed threshold a neuron woken by large codes alone survives "
        f"lambda d = {first.survivable:.2f} at most."
    )
    return [Picture("The printed algorithm", caption, figure)]


def printed_pieces(config: OddNetConfig) -> str:
    """Which pieces of Algorithm 1 a setting takes as printed.

    Args:
        config: of a run.
    """
    pieces = {
        "bias": config.schedule == "paper",
        "lambda": config.decay is None,
        "drawn noise": config.sampled_noise,
    }
    return " + ".join(name for name, printed in pieces.items() if printed) or "none"


FIGURES = (Drawing(PRINTED, draw_printed),)
