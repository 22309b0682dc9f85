"""Figure of the planted rows: their size before and after clean training."""

import numpy as np

from karat.papers.purification.experiments.hubs import HUBS, HubsConfig, HubsResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.run import Runs, by_setting


def draw_hubs(runs: Runs[HubsConfig, HubsResult]) -> list[Picture]:
    """What became of every planted row, against its first size in units of the prediction."""
    if not runs:
        return []
    figure, (sizes, rates) = new_figure(2, width=3.9)
    for index, group in enumerate(by_setting(runs)):
        config, color = group[0].config, PALETTE[index % len(PALETTE)]
        label = f"d = {config.d}, k = {config.k}"
        first = np.array([np.array(run.result.planted) / run.result.predicted_ratio for run in group])
        for ax, values in (
            (sizes, np.array([run.result.grown for run in group])),
            (rates, np.array([run.result.rates for run in group])),
        ):
            # Settings are set apart a little, or their points would lie upon each other.
            ax.plot(first.ravel() * (1 + 0.012 * index), values.ravel(), "o", color=color, markersize=4)
            ax.plot([], [], "o", color=color, markersize=4, label=label)
    for ax in (sizes, rates):
        ax.axvline(1, color=INK, linestyle="--", linewidth=1)
    sizes.axhline(0, color=FAINT, linewidth=1)
    rates.set_ylim(-0.03, 1)
    x = "size when planted / predicted ratio"
    finish(sizes, x=x, y="$\\gamma \\sqrt{V} / b$ after training", title="Planted rows $\\gamma M w^\\star$")
    finish(rates, x=x, y="share of inputs that wake it", title="How often they wake", legend=False)
    caption = (
        "Every point is a row along the dense direction M w*, planted among the random rows before clean "
        f"training ({len(by_setting(runs)[0])} seeds per setting). Dashed: the size from which on it grows "
        "faster than the threshold, computed from the law of the inputs and the speed of the threshold."
    )
    return [Picture("Which rows become hubs", caption, figure)]


FIGURES = (Drawing(HUBS, draw_hubs),)
