"""Figure of the codes alone: how many are on, and the mass of their score near the boundary."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.purification.experiments.small_ball import SMALL_BALL, SmallBallConfig, SmallBallResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.run import Run, Runs, grouped

CodeRuns = Sequence[Run[SmallBallConfig, SmallBallResult]]


def draw_small_ball(runs: Runs[SmallBallConfig, SmallBallResult]) -> list[Picture]:
    """|z|_0/k against k, and P(|<w*, z>| <= t) over t for every k."""
    if not runs:
        return []
    by_sparsity = dict(sorted(grouped(runs, lambda run: run.config.k).items()))
    figure, (support, mass) = new_figure(2, width=3.9, height=3.1)
    _draw_support(support, by_sparsity)
    _draw_mass(mass, by_sparsity)
    seeds = len(by_sparsity[max(by_sparsity)])
    caption = (
        f"Codes drawn at the smallest dimension with k <= d^0.499, {seeds} seeds. Left: the number of codes "
        "that are on, over k. Right: the mass of the score near the boundary; the lemma allows a multiple of "
        "t and a term of order 1/sqrt(k)."
    )
    return [Picture("How many codes are on, and how often the score is small", caption, figure)]


def _draw_support(ax: Axes, by_sparsity: Mapping[int, CodeRuns]) -> None:
    sizes = list(by_sparsity)
    low, middle, high = np.array([_support_quantiles(runs) / k for k, runs in by_sparsity.items()]).T
    ax.fill_between(sizes, low, high, color=PALETTE[0], alpha=0.2, linewidth=0, label="90% of the codes")
    ax.plot(sizes, middle, "o-", color=PALETTE[0], markersize=4, label="median")
    means = [runs[0].result.expected_support / k for k, runs in by_sparsity.items()]
    ax.plot(sizes, means, color=INK, linestyle="--", linewidth=1, label="mean, exact")
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{k}" for k in sizes])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    finish(ax, x="sparsity k", y="$|z|_0/k$", title="Codes that are on")


def _draw_mass(ax: Axes, by_sparsity: Mapping[int, CodeRuns]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    for index, (k, runs) in enumerate(by_sparsity.items()):
        t = runs[0].result.t
        curve_with_band(ax, t, [run.result.boundary_mass for run in runs], f"k = {k}", index=index)
    ax.set_xticks(t, [f"{value:g}" for value in t])
    ax.set_yticks(t, [f"{value:g}" for value in t])
    ax.minorticks_off()
    ax.plot(t, t, color=INK, linestyle=":", linewidth=1, label="t")
    finish(ax, x="distance t", y="$P(|\\langle w^*, z\\rangle| \\leq t)$", title="Mass near the boundary")


def _support_quantiles(runs: CodeRuns) -> np.ndarray:
    """5%, 50% and 95% of |z|_0 over all seeds."""
    counts = [run.result.support_counts for run in runs]
    sizes = np.concatenate([np.repeat(np.arange(len(row)), row) for row in counts])
    return np.asarray(np.quantile(sizes, (0.05, 0.5, 0.95)))


FIGURES = (Drawing(SMALL_BALL, draw_small_ball),)
