"""Figures over models and attackers: the ladder, transfer, weak attackers, noise."""

from collections.abc import Sequence

import numpy as np

from karat.papers.purification.figures.drawings import CLEAN, GOLD, ROBUST, draw_purification
from karat.papers.purification.figures.process import (
    draw_drift,
    draw_kinetics,
    draw_lottery,
    draw_pureinit,
    draw_random_init,
    draw_scaling,
)
from karat.papers.purification.figures.small_ball import draw_small_ball
from karat.study.drawing.picture import Draw, Picture, by_config, describe, varying
from karat.study.drawing.style import INK, curve_with_band, finish, new_figure
from karat.study.record import Record


def _groups(records: Sequence[Record]) -> list[list[Record]]:
    return by_config([record for record in records if record.status == "done"])


def draw_ladder(records: Sequence[Record]) -> list[Picture]:
    """Clean and robust accuracy of every rung."""
    pictures = []
    names = varying(records)
    for group in _groups(records):
        rungs = group[0].values["names"]
        figure, (ax,) = new_figure(1, width=6.4, height=3.9)
        places = np.arange(len(rungs))[::-1]
        for shift, key, color, label in (
            (0.19, "accuracy", GOLD, "clean"),
            (-0.19, "robust", ROBUST, "robust"),
        ):
            table = np.array([[record.values[f"{rung}_{key}"] for rung in rungs] for record in group])
            ax.barh(places + shift, table.mean(axis=0), 0.36, color=color, label=label)
            for row in table:
                ax.plot(row, places + shift, "|", color=INK, markersize=6)
        ax.axvline(0.5, color=INK, linewidth=1, linestyle="--", label="1/2")
        ax.set_yticks(places, rungs)
        ax.set_xlim(0, 1)
        finish(
            ax,
            x="accuracy",
            y="",
            title=f"All trained against tau = {group[0].values['tau']:.3f}",
            legend=False,
        )
        ax.legend(frameon=False, fontsize=8, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
        where = describe(group[0].config, names)
        caption = (
            f"Bars: mean of {len(group)} seeds, ticks: seeds. Robust accuracy is exact for linear and "
            "hard-threshold "
            "rungs and what attacks leave for the others. 'Told' polynomials know dictionary and w*. The "
            "theorem's 1/2 for kernels and polynomials is asymptotic: told polynomials pass it here."
        )
        pictures.append(Picture(f"Ladder of models{f' ({where})' if where else ''}", caption, figure))
    return pictures


def draw_transfer(records: Sequence[Record]) -> list[Picture]:
    """Share of flips that transfer, as a table of nets."""
    groups = _groups(records)
    if not groups:
        return []
    group = groups[-1]
    table = np.nanmean([record.values["table"] for record in group], axis=0)
    count = len(table) - 1
    names = [f"clean {chr(65 + i)}" for i in range(count)] + ["robust A"]
    figure, (ax, bars) = new_figure(2, width=3.7, height=3.2)
    ax.imshow(table, cmap="YlOrBr", vmin=0, vmax=1)
    for i in range(len(table)):
        for j in range(len(table)):
            ax.text(
                j,
                i,
                f"{table[i, j]:.2f}",
                ha="center",
                va="center",
                color=INK if table[i, j] < 0.7 else "white",
            )
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    finish(ax, x="judged on", y="perturbation of", title="Share of flips that transfer", legend=False)
    ax.grid(visible=False)
    heights = {
        "clean to clean": np.concatenate([record.values["rate"] for record in group]),
        "clean to robust": np.concatenate([record.values["to_robust"] for record in group]),
        "random direction": np.concatenate([record.values["random"] for record in group]),
    }
    for place, (color, values) in enumerate(zip((CLEAN, ROBUST, "#9A9A9A"), heights.values(), strict=True)):
        bars.bar(place, values.mean(), 0.6, color=color)
        bars.plot(np.full(len(values), place), values, "_", color=INK, markersize=12)
    bars.set_xticks(range(3), [name.replace(" ", "\n", 1) for name in heights])
    bars.set_ylim(0, 1.05)
    finish(bars, x="", y="share flipped", title="All pairs", legend=False)
    caption = (
        f"FGM perturbations of independently started and trained nets, mean of {len(group)} seeds. Counted "
        "are points "
        "flipped on the source that the target gets right when clean. Robust A was trained from clean A."
    )
    return [Picture("Perturbations transfer between clean nets", caption, figure)]


def draw_weak_attackers(records: Sequence[Record]) -> list[Picture]:
    """Mixture and accuracy after training against each attacker."""
    groups = _groups(records)
    if not groups:
        return []
    group = groups[-1]
    names = group[0].values["attackers"]
    figure, (mixture, accuracy) = new_figure(2, width=3.9, height=3.1)
    places = np.arange(len(names) + 1)
    for ax, key, title in (
        (mixture, "ratio", "Mixture / pure part"),
        (accuracy, "pgd", "Accuracy under PGD"),
    ):
        table = np.array(
            [[r.values[f"clean_{key}"], *(r.values[f"{n}_{key}"] for n in names)] for r in group]
        )
        ax.bar(places, table.mean(axis=0), 0.65, color=[CLEAN, *([ROBUST] * len(names))])
        for row in table:
            ax.plot(places, row, "_", color=INK, markersize=8)
        ax.set_xticks(places, ["before", *(name.replace(" ", "\n") for name in names)])
        finish(ax, x="attacker in training", y="", title=title, legend=False)
        ax.tick_params(axis="x", labelsize=7)
    caption = (
        f"One clean net per seed ({len(group)} seeds), trained on against each attacker. Every attacker "
        "that looks at some net, or only at M w*, lowers the mixture; random directions do not."
    )
    return [Picture("Training against weak attackers", caption, figure)]


def draw_noise(records: Sequence[Record]) -> list[Picture]:
    """Clean accuracy against the size of the noise."""
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    d = max(record.config["d"] for record in done)
    own = [record for record in done if record.config["d"] == d and record.config["sigma_spike"] == 0]
    sizes = sorted({record.config["sigma_x"] for record in own})
    seeds = sorted({record.seed for record in own})
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (key, label) in enumerate(
        (("linear", "linear, exact"), ("net", "net"), ("hard", "hard threshold"))
    ):
        found = {(r.seed, r.config["sigma_x"]): r.values[f"{key}_accuracy"] for r in own}
        table = [[found.get((seed, size), np.nan) for size in sizes] for seed in seeds]
        curve_with_band(ax, sizes, table, label, index=(1, 0, 4)[index])
    ax.axhline(0.5, color=INK, linewidth=1, linestyle=":")
    ax.set_ylim(0.45, 1.02)
    finish(ax, x="noise $\\sigma_x$ (the signal has length about 0.7)", y="clean accuracy", title=f"d = {d}")
    caption = (
        "Clean accuracy of <w*, M^T x>, of the net trained from w = M, and of the hard-threshold oracle."
    )
    return [Picture("Thresholds denoise, linear classifiers do not", caption, figure)]


FIGURES: dict[str, Draw] = {
    "purification.l2": draw_purification,
    "purification.linf": draw_purification,
    "purification.scaling": draw_scaling,
    "purification.pureinit": draw_pureinit,
    "purification.lottery": draw_lottery,
    "purification.kinetics": draw_kinetics,
    "purification.drift": draw_drift,
    "purification.random_init": draw_random_init,
    "purification.ladder": draw_ladder,
    "purification.transfer": draw_transfer,
    "purification.weak_attackers": draw_weak_attackers,
    "purification.noise": draw_noise,
    "purification.small_ball": draw_small_ball,
}
"""The figures of purification by experiment."""
