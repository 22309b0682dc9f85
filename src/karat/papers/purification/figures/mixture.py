"""Figures of the mixture over training: its law, from pure features, and under attack from the start."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.pureinit import PUREINIT, PureInitResult
from karat.papers.purification.experiments.random_init import RANDOM_INIT, RandomInitResult
from karat.papers.purification.experiments.scaling import SCALING, ScalingResult
from karat.papers.purification.figures.drawings import CLEAN, GOLD, ROBUST, last_setting, range_band, table
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.run import Run, Runs, by_setting


def draw_scaling(runs: Runs[OddNetConfig, ScalingResult]) -> list[Picture]:
    """beta/alpha against E|z|_0/d over all d and k, with the predicted line, and the way to equilibrium."""
    if not runs:
        return []
    figure, (law, way) = new_figure(2, width=3.8, height=3.1)
    _draw_law(law, runs)
    for index, group in enumerate(by_setting(runs)):
        config, result = group[0].config, group[0].result
        shares = table(group, lambda r: r.ratio_curve) / result.predicted
        label = f"d = {config.d}, k = {config.k}"
        curve_with_band(way, result.steps, shares.tolist(), label, index=index)
    way.axhline(1, color=INK, linestyle="--", linewidth=1)
    finish(way, x="step of clean training", y="mixture / prediction", title="Towards equilibrium")
    caption = (
        "Clean training from w = M. Left: beta/alpha of every cell against the prediction with no free "
        "constant; grey: within a factor two; hollow: mixtures have begun to wake neurons, outside the law's "
        "assumption."
    )
    return [Picture("The law of the mixture", caption, figure)]


def _draw_law(ax: Axes, runs: Sequence[Run[OddNetConfig, ScalingResult]]) -> None:
    predicted, ratio = table(runs, lambda r: r.predicted), table(runs, lambda r: r.ratio)
    d = np.array([run.config.d for run in runs])
    calm = table(runs, lambda r: r.rate <= 1.1 * r.start_rate).astype(bool)
    for index, size in enumerate(sorted(set(d.tolist()))):
        color = PALETTE[index % len(PALETTE)]
        for mask, fill, label in ((calm, color, f"d = {size}"), (~calm, "none", None)):
            x, y = (values[mask & (d == size)] for values in (predicted, ratio))
            ax.plot(x, y, "o", color=color, markerfacecolor=fill, markersize=5, label=label)
    ends = np.array([0.8 * predicted.min(), 1.25 * predicted.max()])
    ax.plot(ends, ends, color=INK, linestyle="--", linewidth=1, label="$E|z|_0/d$")
    ax.fill_between(ends, ends / 2, 2 * ends, color=FAINT, alpha=0.5, linewidth=0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    finish(
        ax, x="probability that a neuron wakes, $E|z|_0/d$", y="mixture / pure part", title="The mixture law"
    )


def draw_pureinit(runs: Runs[OddNetConfig, PureInitResult]) -> list[Picture]:
    """Mixture and accuracies over clean and then adversarial training from pure features."""
    group = last_setting(runs)
    if not group:
        return []
    figure, (mixture, accuracy) = new_figure(2, width=4.0)
    config, first = group[0].config, group[0].result
    last = first.clean.steps[-1]
    steps = first.clean.steps
    range_band(mixture, steps, table(group, lambda r: r.clean.ratio), CLEAN, "clean training")
    range_band(accuracy, steps, table(group, lambda r: r.clean.pgd), CLEAN, "under attack")
    range_band(accuracy, steps, table(group, lambda r: r.clean.accuracy), GOLD, "clean")
    steps = [last + step for step in first.robust.steps]
    range_band(mixture, steps, table(group, lambda r: r.robust.ratio), ROBUST, "robust training")
    range_band(accuracy, steps, table(group, lambda r: r.robust.pgd), ROBUST, None)
    range_band(accuracy, steps, table(group, lambda r: r.robust.accuracy), GOLD, None)
    mixture.axhline(first.predicted, color=INK, linestyle="--", linewidth=1, label="$E|z|_0/d$")
    for ax in (mixture, accuracy):
        ax.axvline(last, color=FAINT, linewidth=1.2)
    accuracy.set_ylim(0, 1.02)
    finish(mixture, x="step", y="mixture / pure part", title="Mixture")
    finish(accuracy, x="step", y="accuracy", title="Accuracy")
    attacked = [table(group, value).mean(axis=0) for value in (lambda r: r.clean.pgd, lambda r: r.robust.pgd)]
    caption = (
        f"Start at the pure features w = M (d = {config.d}, k = {config.k}): clean training, then "
        f"adversarial training. Accuracy under attack {attacked[0][0]:.2f} at first, {attacked[0][-1]:.2f} "
        f"after clean and {attacked[1][-1]:.2f} after adversarial training. Bands: smallest to largest of "
        f"{len(group)} seeds."
    )
    return [Picture("Clean and adversarial training from pure features", caption, figure)]


def draw_random_init(runs: Runs[OddNetConfig, RandomInitResult]) -> list[Picture]:
    """The mixture over training with and without an adversary from the start."""
    group = last_setting(runs)
    if not group:
        return []
    figure, (mixture, accuracy) = new_figure(2, width=3.9)
    steps = np.array(group[0].result.steps)
    # While all neurons are as small as at the start, there is no pure part to divide by.
    late = steps >= 0.2 * steps[-1]
    clean = table(group, lambda r: r.clean.ratio_curve)[:, late]
    range_band(mixture, steps[late].tolist(), clean, CLEAN, "clean")
    robust = table(group, lambda r: r.robust.ratio_curve)[:, late]
    range_band(mixture, steps[late].tolist(), robust, ROBUST, "adversarial from the start")
    mixture.set_ylim(bottom=0)
    finish(mixture, x="step", y="mixture / pure part", title="Random start")
    arms = (
        ("clean", CLEAN, [run.result.clean for run in group]),
        ("robust", ROBUST, [run.result.robust for run in group]),
    )
    for index, (label, color, nets) in enumerate(arms):
        shares = np.array([[net.accuracy, net.universal, net.fgm, net.pgd] for net in nets])
        accuracy.bar(np.arange(4) + 0.38 * index - 0.19, shares.mean(axis=0), 0.36, color=color, label=label)
    accuracy.set_xticks(range(4), ["none", "universal", "FGM", "PGD"])
    accuracy.set_ylim(0, 1.25)
    finish(accuracy, x="attack", y="accuracy", title="At the end")
    caption = (
        f"Same start and data for both arms, {len(group)} seeds. The radius of the adversarial arm grows "
        f"over {group[0].config.ramp:.0%} of training."
    )
    return [Picture("Adversarial training from random weights", caption, figure)]


FIGURES = (
    Drawing(SCALING, draw_scaling),
    Drawing(PUREINIT, draw_pureinit),
    Drawing(RANDOM_INIT, draw_random_init),
)
