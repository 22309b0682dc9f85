"""Figures over attackers: perturbations that transfer, and training against weak ones."""

import numpy as np
from matplotlib.axes import Axes

from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.transfer import TRANSFER, TransferConfig, TransferResult
from karat.papers.purification.experiments.weak_attackers import WEAK_ATTACKERS, WeakAttackersResult
from karat.papers.purification.figures.drawings import CLEAN, ROBUST, last_setting, table
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, finish, new_figure
from karat.study.run import Runs


def draw_transfer(runs: Runs[TransferConfig, TransferResult]) -> list[Picture]:
    """Share of flips that transfer, as a table of nets."""
    group = last_setting(runs)
    if not group:
        return []
    figure, (matrix, bars) = new_figure(2, width=3.7, height=3.2)
    _draw_matrix(matrix, table(group, lambda r: r.table).mean(axis=0))
    heights = (
        ("clean\nto clean", CLEAN, table(group, lambda r: r.rate)),
        ("clean\nto robust", ROBUST, table(group, lambda r: r.to_robust)),
        ("random\ndirection", "#9A9A9A", table(group, lambda r: r.random)),
    )
    for position, (_, color, values) in enumerate(heights):
        bars.bar(position, values.mean(), 0.6, color=color)
        bars.plot(np.full(values.size, position), values.ravel(), "_", color=INK, markersize=12)
    bars.set_xticks(range(3), [label for label, _, _ in heights])
    bars.set_ylim(0, 1.05)
    finish(bars, x="", y="share flipped", title="All pairs", legend=False)
    caption = (
        f"FGM perturbations of independently started and trained nets, mean of {len(group)} seeds. Counted "
        "are points flipped on the source that the target gets right when clean. Robust A was trained from "
        "clean A."
    )
    return [Picture("Transfer of perturbations between nets", caption, figure)]


def _draw_matrix(ax: Axes, shares: np.ndarray) -> None:
    names = [f"clean {chr(65 + i)}" for i in range(len(shares) - 1)] + ["robust A"]
    ax.imshow(shares, cmap="YlOrBr", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        color = INK if share < 0.7 else "white"
        ax.text(column, row, f"{share:.2f}", ha="center", va="center", color=color)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    finish(ax, x="judged on", y="perturbation of", title="Share of flips that transfer", legend=False)
    ax.grid(visible=False)


def draw_weak_attackers(runs: Runs[OddNetConfig, WeakAttackersResult]) -> list[Picture]:
    """Mixture and accuracy after training against each attacker."""
    group = last_setting(runs)
    if not group:
        return []
    names = list(group[0].result.trained)
    figure, (mixture, accuracy) = new_figure(2, width=3.9, height=3.1)
    positions = np.arange(len(names) + 1)
    ratios = table(group, lambda r: [r.clean.ratio, *(r.trained[name].ratio for name in names)])
    shares = table(group, lambda r: [r.clean.pgd, *(r.trained[name].pgd for name in names)])
    for ax, values, title in (
        (mixture, ratios, "Mixture / pure part"),
        (accuracy, shares, "Accuracy under PGD"),
    ):
        ax.bar(positions, values.mean(axis=0), 0.65, color=[CLEAN, *([ROBUST] * len(names))])
        for one_seed in values:
            ax.plot(positions, one_seed, "_", color=INK, markersize=8)
        ax.set_xticks(positions, ["before", *(name.replace(" ", "\n") for name in names)])
        finish(ax, x="attacker in training", y="", title=title, legend=False)
        ax.tick_params(axis="x", labelsize=7)
    means = ratios.mean(axis=0)
    factors = ", ".join(
        f"{name} {means[0] / after:.1f}" for name, after in zip(names, means[1:], strict=True) if after > 0
    )
    caption = (
        f"One clean net per seed ({len(group)} seeds), trained on against each attacker. Factors by which "
        f"the mean mixture falls: {factors}."
    )
    return [Picture("Training against weak attackers", caption, figure)]


FIGURES = (Drawing(TRANSFER, draw_transfer), Drawing(WEAK_ATTACKERS, draw_weak_attackers))
