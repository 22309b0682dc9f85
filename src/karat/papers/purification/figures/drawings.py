"""The neurons before and after adversarial training, and what the figures of the paper share."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from karat.papers.purification.experiments.ablation import AblatedNet
from karat.papers.purification.experiments.l2 import TwoTrainingsResult
from karat.papers.purification.experiments.net_measures import HUB, Accuracies
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.run import Run, by_setting

C = TypeVar("C")
R = TypeVar("R")
TwoTrainingsRun = Run[OddNetConfig, TwoTrainingsResult]
Stage = Literal["clean", "robust"]

CLEAN, ROBUST, GOLD = PALETTE[1], PALETTE[0], "#C9A227"
"""Clean nets in vermilion, robust ones in blue, pure features in gold, in every figure of the paper."""

KARAT = LinearSegmentedColormap.from_list("karat", ["#4A4E57", "#8C5A3C", "#C9862B", "#E9B824", "#FFD75E"])
"""From lead to gold."""

LEAST = 20.0
"""Karat at the lower end of the colours."""


def last_setting(runs: Sequence[Run[C, R]]) -> list[Run[C, R]]:
    """The runs of the last setting, which is the largest of the presets."""
    return by_setting(runs)[-1] if runs else []


def table(runs: Sequence[Run[C, R]], value: Callable[[R], Any]) -> np.ndarray:
    """One row per run.

    Args:
        runs: of one setting.
        value: result -> number or curve.
    """
    return np.array([value(run.result) for run in runs], dtype=float)


def range_band(
    ax: Axes, x: Sequence[float], curves: np.ndarray, color: str, label: str | None, **style: Any
) -> None:
    """Draw the mean over seeds, and from the smallest to the largest seed as a band.

    Args:
        ax: to draw on.
        x: (g,) grid.
        curves: (seeds, g).
        color: of line and band.
        label: of the legend, None for none.
        style: of the line.
    """
    ax.plot(x, curves.mean(axis=0), color=color, **{"linewidth": 1.7} | style, label=label)
    ax.fill_between(x, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.2, linewidth=0)


def signature(run: TwoTrainingsRun) -> Figure:
    """The signature figure: the neurons of both trainings with their colour scale, and the surgery."""
    figure = Figure(figsize=(12.6, 4.3), layout="constrained")
    left, right, surgery = figure.subplots(1, 3, width_ratios=(1, 1, 0.72))
    right.sharex(left)
    right.sharey(left)
    draw_surgery(surgery, [run])
    surgery.set_title(
        "Surgery on the clean net", loc="left", fontsize=12, fontweight="bold", color=INK, pad=20
    )
    points = scatter_neurons(left, run, "clean")
    scatter_neurons(right, run, "robust")
    for ax, net, title in (
        (left, run.result.clean, "Clean training"),
        (right, run.result.robust, "Adversarial training"),
    ):
        ax.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK, pad=20)
        text = f"accuracy {net.accuracy:.0%}, under attack {net.pgd:.0%}"
        ax.text(0, 1.02, text, transform=ax.transAxes, fontsize=9.5, color=INK)
    right.set_ylabel("")
    bar = figure.colorbar(points, ax=[left, right], shrink=0.85, aspect=28, pad=0.015)
    bar.set_label("purity in karat", color=INK)
    bar.set_ticks([20, 21, 22, 23, 24])
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=8)
    return figure


def draw_surgery(ax: Axes, runs: Sequence[TwoTrainingsRun], *, legend_at: float = -0.14) -> None:
    """Accuracies of the clean net without some of its parts, and of the robust net beside it.

    Args:
        ax: to draw on.
        runs: of one setting; means over them are shown.
        legend_at: upper end of the legend, in heights of the panel.
    """
    kinds: Sequence[tuple[str, Callable[[TwoTrainingsResult], AblatedNet | Accuracies]]] = (
        ("clean net", lambda r: r.whole),
        ("hubs deleted", lambda r: r.without_hubs),
        ("mixture of the\nothers removed", lambda r: r.without_mixture),
        ("both", lambda r: r.without_both),
        ("adversarially\ntrained", lambda r: r.robust),
    )
    attacks: Sequence[tuple[str, str, Callable[[AblatedNet | Accuracies], float]]] = (
        ("no attack", GOLD, lambda net: net.accuracy),
        ("along $Mw^\\star$", CLEAN, lambda net: net.universal),
        ("PGD", INK, lambda net: net.pgd),
    )
    rows = np.arange(len(kinds))
    for index, (label, color, attacked) in enumerate(attacks):
        values = [float(np.mean([attacked(net(run.result)) for run in runs])) for _, net in kinds]
        ax.barh(rows + 0.26 * (index - 1), values, 0.24, color=color, label=label)
    ax.set_yticks(rows, [name for name, _ in kinds])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    hubs, ordinary = (
        np.mean([value(run.result) for run in runs]) for value in (lambda r: r.hubs, lambda r: r.ordinary)
    )
    finish(ax, x="accuracy", y="", legend=False)
    text = f"hubs: {hubs:.0f}, other live neurons: {ordinary:.0f}"
    ax.text(0, 1.02, text, transform=ax.transAxes, fontsize=9.5, color=INK)
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.4, legend_at))


def scatter_neurons(ax: Axes, run: TwoTrainingsRun, stage: Stage) -> PathCollection:
    """Draw the neurons of one stage; after adversarial training also the way each has come.

    Args:
        ax: to draw on.
        run: with the neurons of both stages.
        stage: which one.
    """
    result = run.result
    before, net = result.clean, result.clean if stage == "clean" else result.robust
    now = np.column_stack([net.pure, net.dense])
    old = np.column_stack([before.pure, before.dense])
    hub = np.array(before.own) > HUB
    if hub.all():
        hub[:] = False
    # Hubs reach far beyond all others; the panel shows the ordinary neurons and the hubs that fit.
    wide = 1.12 * float(np.quantile(old[~hub, 0], 0.995))
    high = 1.12 * float(np.quantile(old[~hub, 1], 0.985))
    low = min(-0.12 * high, 1.15 * float(np.min(np.array(result.robust.dense)[~hub])))
    if stage == "robust":
        _draw_way(ax, old, now)
    ax.axhline(0, color="#FFD75E", linewidth=5, alpha=0.55, zorder=0, solid_capstyle="butt")
    # d equal coefficients have sqrt(d) times the length of one.
    slope = result.support_ratio * np.sqrt(run.config.d)
    ends = np.array([0, wide])
    ax.plot(ends, slope * ends, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=3)
    points = _draw_points(ax, now, hub)
    outside = int(((now[:, 0] > wide) | (now[:, 1] > high)).sum())
    ax.set_xlim(0, wide)
    ax.set_ylim(low, high)
    finish(ax, x="pure part", y="dense mixture along $Mw^\\star$", legend=False)
    if outside:
        text = f"{outside} more outside"
        ax.text(0.015, 0.975, text, transform=ax.transAxes, fontsize=8, color=INK, va="top")
    if stage == "clean":
        _name_lines(ax, slope, wide, high)
    return points


def _draw_way(ax: Axes, old: np.ndarray, now: np.ndarray) -> None:
    """Grey lines from where each neuron was."""
    ways = LineCollection(
        list(np.stack([old, now], axis=1)), colors="#BBBBBB", linewidths=0.45, alpha=0.55, zorder=1
    )
    ax.add_collection(ways)
    ax.plot(old[:, 0], old[:, 1], "o", color="#C4C4C4", markersize=1.8, markeredgewidth=0, zorder=2)


def _draw_points(ax: Axes, now: np.ndarray, hub: np.ndarray) -> PathCollection:
    """Ordinary neurons coloured by their karat, hubs as crosses."""
    pure, dense = now.T
    karat = 24 * pure**2 / np.maximum(pure**2 + dense**2, 1e-12)
    points = ax.scatter(
        pure[~hub],
        dense[~hub],
        c=karat[~hub],
        cmap=KARAT,
        vmin=LEAST,
        vmax=24,
        s=26,
        linewidths=0.35,
        edgecolors="#3A3A3A",
        zorder=4,
    )
    ax.plot(pure[hub], dense[hub], "x", color=INK, markersize=4.5, markeredgewidth=1.1, zorder=5)
    return points


def _name_lines(ax: Axes, slope: float, wide: float, high: float) -> None:
    """Say what the dashed and the golden line are."""
    ax.text(
        0.05 * wide,
        slope * 0.05 * wide + 0.05 * high,
        "predicted mixture",
        fontsize=8.5,
        color=INK,
        rotation=np.degrees(np.arctan(slope)),
        rotation_mode="anchor",
        transform_rotates_text=True,
    )
    ax.text(0.985 * wide, 0.035 * high, "pure features", fontsize=8.5, color="#8A6A00", ha="right")
