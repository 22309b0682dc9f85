"""Figures over models of growing complexity, and over input noise."""

from collections.abc import Sequence

import numpy as np

from karat.papers.purification.experiments.model_classes import (
    MODEL_CLASSES,
    ModelClassesConfig,
    ModelClassesResult,
)
from karat.papers.purification.experiments.noise import NOISE, NoiseResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.figures.drawings import GOLD, ROBUST, table
from karat.study.drawing.picture import Drawing, Picture, describe_config, varied_settings
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.run import Run, Runs, by_setting, pivot


def draw_model_classes(runs: Runs[ModelClassesConfig, ModelClassesResult]) -> list[Picture]:
    """Clean and robust accuracy of every model, one picture per setting."""
    pictures = []
    names = varied_settings(runs)
    for group in by_setting(runs):
        setting = describe_config(group[0].config, names)
        pictures.append(_draw_models(group, f" ({setting})" if setting else ""))
    return [*_draw_radii(runs), *pictures]


def _draw_radii(runs: Sequence[Run[ModelClassesConfig, ModelClassesResult]]) -> list[Picture]:
    """The radius at error one half of every model against d, both in logarithms."""
    cube = [run for run in runs if run.config.p == np.inf]
    if len({run.config.d for run in cube}) < 2:
        return []
    figure, (ax,) = new_figure(1, width=6.0, height=3.6)
    names = [name for name in cube[0].result.models if name != "kernel minus"]
    for index, name in enumerate(names):
        points = [(run.config.d, run.result.models[name].half_radius) for run in cube]
        found = [(d, radius) for d, radius in points if radius is not None]
        sizes = sorted({d for d, _ in found})
        middle = [float(np.median([radius for d, radius in found if d == size])) for size in sizes]
        color = PALETTE[index % len(PALETTE)]
        line = ("-", "--", ":")[index // len(PALETTE) % 3]
        ax.plot(sizes, middle, color=color, linestyle=line, marker="o", markersize=3.5, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = sorted({run.config.d for run in cube})
    ax.set_xticks(ticks, [str(d) for d in ticks])
    ax.minorticks_off()
    finish(
        ax, x="d", y="$\\ell_\\infty$ radius at error 1/2", title="How far each model is robust", legend=False
    )
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        "Median over seeds of the radius at which attacks bring the error to one half, with k the largest "
        "that the assumption allows. All but 'linear exact' and the oracles are trained against the radius "
        "tau of each d; models that err on half of the points without attack have no point."
    )
    return [Picture("Radius at error one half", caption, figure)]


def _draw_models(group: list[Run[ModelClassesConfig, ModelClassesResult]], note: str) -> Picture:
    first = group[0].result
    figure, (ax,) = new_figure(1, width=6.4, height=3.9)
    rows = np.arange(len(first.models))[::-1]
    clean = table(group, lambda r: [r.models[name].accuracy for name in first.models])
    robust = table(group, lambda r: [r.models[name].robust for name in first.models])
    for shift, shares, color, label in ((0.19, clean, GOLD, "clean"), (-0.19, robust, ROBUST, "robust")):
        ax.barh(rows + shift, shares.mean(axis=0), 0.36, color=color, label=label)
        for one_seed in shares:
            ax.plot(one_seed, rows + shift, "|", color=INK, markersize=6)
    ax.axvline(0.5, color=INK, linewidth=1, linestyle="--", label="1/2")
    ax.set_yticks(rows, list(first.models))
    ax.set_xlim(0, 1)
    finish(ax, x="accuracy", y="", title=f"Attacked at tau = {first.tau:.3f}", legend=False)
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    caption = (
        f"Bars: mean of {len(group)} seeds, ticks: seeds. Robust accuracy is exact for linear rungs, what is "
        "certified for the hard threshold (exact in l_inf) and what attacks leave for the others; all but "
        "'linear exact' and the oracles are trained against this radius. 'Told' polynomials know dictionary "
        "and w*. The theorem's 1/2 for kernels and polynomials is asymptotic."
    )
    return Picture(f"Ladder of models{note}", caption, figure)


def draw_noise(runs: Runs[OddNetConfig, NoiseResult]) -> list[Picture]:
    """Clean accuracy against the size of the noise."""
    if not runs:
        return []
    d = max(run.config.d for run in runs)
    standard = [run for run in runs if run.config.d == d and run.config.sigma_spike == 0]
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    sizes, linear = pivot(standard, lambda run: run.config.sigma_x, lambda run: run.result.linear_accuracy)
    _, net = pivot(standard, lambda run: run.config.sigma_x, lambda run: run.result.net_accuracy)
    _, hard = pivot(standard, lambda run: run.config.sigma_x, lambda run: run.result.hard_accuracy)
    for shares, label, style in ((linear, "linear, exact", 1), (net, "net", 0), (hard, "hard threshold", 4)):
        curve_with_band(ax, sizes.tolist(), shares.tolist(), label, index=style)
    ax.axhline(0.5, color=INK, linewidth=1, linestyle=":")
    ax.set_ylim(0.45, 1.02)
    finish(ax, x="noise $\\sigma_x$ (the signal has length about 0.7)", y="clean accuracy", title=f"d = {d}")
    caption = (
        "Clean accuracy of <w*, M^T x>, of the net trained from w = M, and of the hard-threshold oracle."
    )
    return [Picture("Clean accuracy against input noise", caption, figure)]


FIGURES = (Drawing(MODEL_CLASSES, draw_model_classes), Drawing(NOISE, draw_noise))
