"""Adversarial training inside the ball: what it withstands, what it needs, and readings of the algorithm."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from karat.papers.lazy.bounds import CONSTANTS
from karat.papers.lazy.checks.adversarial import LEVELS
from karat.papers.lazy.checks.corollary import enclosure
from karat.papers.lazy.checks.trained import TrainedRun, robust_accuracy
from karat.papers.lazy.experiments.adversarial import ALGORITHM, BEYOND, BRACKET, MOVEMENT, RADIUS
from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
)
from karat.papers.lazy.figures.maps import movement_map, radius_map
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, grouped, pivot

TrainedRuns = Runs[AdversarialTrainingConfig, AdversarialTrainingResult]


def draw_radius(runs: TrainedRuns) -> list[Picture]:
    """Draw robust accuracy against radius for every d, and where it crosses three levels.

    Ref: lazy, fig4.radius
    """
    if not runs:
        return []
    figure, (left, right) = new_figure(2, width=4.3, height=3.3)
    by_dimension = dict(sorted(grouped(runs, lambda run: run.config.d).items()))
    _draw_accuracies(left, by_dimension)
    _draw_contours(right, by_dimension)
    config = runs[0].config
    caption = (
        f"Projected adversarial training in the ball C0 = {config.C0:g}, m = {config.m}, "
        "unit-length digits; robust accuracy by PGD. Contours interpolated per seed, bars one standard "
        f"deviation. {seeds_note(runs)}"
    )
    lines = Picture("Radius that adversarially trained lazy nets withstand", caption, figure)
    return [lines, radius_map(runs)]


def _draw_accuracies(ax: Axes, by_dimension: dict[int, list[TrainedRun]]) -> None:
    """Robust accuracy over the radius times sqrt d, in which all dimensions should fall together."""
    ax.set_xscale("log")
    for index, (d, cells) in enumerate(by_dimension.items()):
        c, table = pivot(cells, lambda run: run.config.c, robust_accuracy)
        draw_series(ax, c, table, f"d = {d}", color=PALETTE[index % 7])
    ax.axvline(CONSTANTS["radius"], color=INK, linestyle=":", linewidth=1.2)
    ax.text(5.1, 0.5, "5 (paper)", fontsize=8, color=INK)
    ax.set_ylim(-0.03, 1.03)
    plain_ticks(ax, [1.5, 2, 3, 4, 5, 6, 7])
    finish(ax, x=r"radius $\tau\sqrt{d}$", y="robust test accuracy", title="Accuracy")


def _draw_contours(ax: Axes, by_dimension: dict[int, list[TrainedRun]]) -> None:
    """The radius at which robust accuracy falls to three levels, over d."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    for level, color in zip(LEVELS, (PALETTE[1], PALETTE[0], PALETTE[2]), strict=True):
        crossings = {d: _crossing(cells, level) for d, cells in by_dimension.items()}
        points = [(d, at.mean / d**0.5, at.spread / d**0.5) for d, at in crossings.items() if at is not None]
        if points:
            d, radius, spread = np.array(points).T
            name = f"{level:.0%}"
            ax.errorbar(d, radius, yerr=spread, color=color, marker="o", markersize=4, capsize=2, label=name)
    ends = np.array([min(by_dimension), max(by_dimension)], dtype=float)
    printed = CONSTANTS["radius"] / np.sqrt(ends)
    ax.plot(ends, printed, color=INK, linestyle=":", linewidth=1.2, label=r"$5/\sqrt{d}$ (paper)")
    plain_ticks(ax, list(by_dimension))
    round_ticks(ax)
    finish(ax, x="input dimension d", y=r"radius $\tau$ of the contour", title="Contours")


class Crossing(NamedTuple):
    """Where robust accuracy falls to a level.

    Args:
        mean: over seeds, of the radius times sqrt d.
        spread: standard deviation over seeds.
    """

    mean: float
    spread: float


def _crossing(cells: Sequence[TrainedRun], level: float) -> Crossing | None:
    """Where accuracy first falls to a level, interpolated in the logarithm of the radius; None if nowhere."""
    c, table = pivot(cells, lambda run: run.config.c, robust_accuracy)
    by_seed = []
    for row in table:
        falls = np.flatnonzero((row[:-1] >= level) & (row[1:] < level))
        # A mean over the seeds that do cross would be too small or too large.
        if len(falls) == 0:
            return None
        i = falls[0]
        share = (row[i] - level) / (row[i] - row[i + 1])
        by_seed.append(np.exp(np.log(c[i]) + share * (np.log(c[i + 1]) - np.log(c[i]))))
    spread = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else 0.0
    return Crossing(float(np.mean(by_seed)), spread)


def draw_movement(runs: TrainedRuns) -> list[Picture]:
    """Draw robust accuracy against the movement allowed to the rows, for every width.

    Ref: lazy, fig4.movement
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.2)
    ax.set_xscale("log")
    by_width = sorted(grouped(runs, lambda run: run.config.m).items())
    for index, (m, cells) in enumerate(by_width):
        C0, table = pivot(cells, lambda run: run.config.C0, robust_accuracy)
        draw_series(ax, C0, table, f"m = {m}", color=PALETTE[index % 7], marker="osD"[index % 3])
    ax.axvline(CONSTANTS["movement"], color=INK, linestyle=":", linewidth=1.2)
    ax.text(25.6, 0.03, "25 (paper)", fontsize=8, color=INK)
    plain_ticks(ax, [8, 10, 15, 20, 25, 30, 40])
    ax.set_ylim(-0.03, 1.03)
    finish(ax, x=r"movement allowed $C_0 = V\sqrt{m}$", y="robust test accuracy")
    config = runs[0].config
    caption = (
        f"d = {config.d}, radius {config.tau:.2g}. If the transition scales as 1/sqrt(m) the widths fall on "
        f"one curve. {seeds_note(runs)}"
    )
    return [Picture("Movement that robustness needs", caption, figure), movement_map(runs)]


def draw_bracket(runs: TrainedRuns) -> list[Picture]:
    """Draw the robust error of trained nets between attack and certificate, over the radius.

    Ref: lazy, Cor 3.2
    """
    enclosed = [run for run in runs if run.result.error is not None]
    if not enclosed:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.0)
    by_dimension = sorted(grouped(enclosed, lambda run: run.config.d).items())
    for index, (d, cells) in enumerate(by_dimension):
        c, low = pivot(cells, lambda run: run.config.c, lambda run: enclosure(run).low)
        _, high = pivot(cells, lambda run: run.config.c, lambda run: enclosure(run).high)
        bottom, top = np.nanmean(low, axis=0), np.nanmean(high, axis=0)
        color = PALETTE[index % 7]
        ax.fill_between(c, bottom, top, color=color, alpha=0.2, linewidth=0)
        ax.plot(c, bottom, color=color, marker="o", markersize=4, label=f"d = {d}, attack")
        ax.plot(
            c,
            top,
            color=color,
            marker="s",
            markersize=4,
            markerfacecolor="white",
            linestyle="--",
            label=f"d = {d}, certificate",
        )
    ax.axhline(0.9, color=INK, linestyle=":", linewidth=1.1, label="0.9 (corollary)")
    ax.set_ylim(-0.03, 1.05)
    finish(ax, x=r"radius $\tau\sqrt{d}$", y="robust test error")
    config = enclosed[0].config
    caption = (
        f"Adversarially trained at each radius inside C0 = {config.C0:g}, m = {config.m}; the "
        f"shaded bracket holds the true robust error of {config.certified} test images. Means over "
        f"{len({run.seed for run in enclosed})} seeds."
    )
    return [Picture("Robust error, enclosed", caption, figure)]


def draw_beyond(runs: TrainedRuns) -> list[Picture]:
    """Draw robust accuracy with and without the projection, dimension by dimension.

    Ref: lazy, sec5.2.beyond
    """
    if not runs:
        return []
    cells = grouped(runs, lambda run: (run.config.C0, run.config.side, run.config.c))
    balls = sorted({run.config.C0 for run in runs})
    sizes = sorted({(run.config.side, run.config.c) for run in runs})
    figure, (ax,) = new_figure(1, width=4.6, height=3.0)
    _draw_bars(
        ax,
        [f"d = {side**2}\n$\\tau$ = {c / side:.2f}" for side, c in sizes],
        {
            "no projection" if math.isinf(C0) else f"C0 = {C0:g}": [
                cells.get((C0, side, c), []) for side, c in sizes
            ]
            for C0 in balls
        },
    )
    caption = (
        f"Adversarial training of the same nets inside the ball and without any, m = {runs[0].config.m}. "
        f"{_bars_note(runs)}"
    )
    return [Picture("Beyond the lazy ball", caption, figure)]


def draw_algorithm(runs: TrainedRuns) -> list[Picture]:
    """Draw robust accuracy under the readings of Algorithm 1.

    Ref: lazy, Alg 1
    """
    if not runs:
        return []
    cells = grouped(runs, lambda run: f"{run.config.line4}, {run.config.project}")
    figure, (ax,) = new_figure(1, width=4.2, height=2.8)
    _draw_bars(
        ax,
        ["line 4 iterated (PGD)", "line 4 as printed"],
        {
            f"projected every {project}": [
                cells.get(f"{line4}, {project}", []) for line4 in ("iterated", "printed")
            ]
            for project in ("step", "epoch")
        },
    )
    config = runs[0].config
    caption = (
        f"d = {config.d}, m = {config.m}, C0 = {config.C0:g}, radius "
        f"{config.tau:.2g}. As printed, every attack step follows the gradient at x, so "
        f"that the training attack is one short step. {_bars_note(runs)}"
    )
    return [Picture("Readings of Algorithm 1", caption, figure)]


def _draw_bars(ax: Axes, ticks: Sequence[str], bars: dict[str, list[list[TrainedRun]]]) -> None:
    """Grouped bars of robust accuracy: one group per tick, one colour per name, the cells of each bar."""
    width = 0.8 / len(bars)
    for index, (name, row) in enumerate(bars.items()):
        values = [[robust_accuracy(run) for run in cells] for cells in row]
        positions = np.arange(len(ticks)) + (index - (len(bars) - 1) / 2) * width
        means = [float(np.mean(v)) if v else 0.0 for v in values]
        spread = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in values]
        color = PALETTE[index]
        ax.bar(positions, means, 0.92 * width, yerr=spread, capsize=2, color=color, alpha=0.85, label=name)
    ax.set_xticks(range(len(ticks)), ticks)
    ax.set_ylim(0, 1.25)
    finish(ax, x="", y="robust test accuracy")
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)


def _bars_note(runs: TrainedRuns) -> str:
    """How many seeds, and that these bars are no intervals."""
    seeds = seeds_note(runs).split(",")[0].rstrip(".")
    return f"{seeds}, bars one standard deviation; robust accuracy by PGD."


FIGURES = (
    Drawing(RADIUS, draw_radius),
    Drawing(MOVEMENT, draw_movement),
    Drawing(BRACKET, draw_bracket),
    Drawing(BEYOND, draw_beyond),
    Drawing(ALGORITHM, draw_algorithm),
)
