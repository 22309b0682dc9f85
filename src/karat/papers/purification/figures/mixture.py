"""Figures of the mixture over training: from pure features, and under attack from the start."""

import numpy as np

from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.pureinit import PUREINIT, PureInitResult
from karat.papers.purification.experiments.random_init import RANDOM_INIT, RandomInitResult
from karat.papers.purification.figures.drawings import CLEAN, GOLD, ROBUST, last_setting, range_band, table
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, finish, new_figure
from karat.study.run import Runs


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
    Drawing(PUREINIT, draw_pureinit),
    Drawing(RANDOM_INIT, draw_random_init),
)
