"""Figures of the methods' tables: measured beside printed numbers, accuracy over the steps, directions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.features.checks.reported import NAMES, REPORTED, VARIED, MethodRun, part_label, part_of
from karat.papers.features.experiments.directions import DirectionPicture
from karat.papers.features.experiments.settings import Method
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, curve_with_band, finish
from karat.study.run import by_setting

TITLES = {"hidden": "Hidden representations", "appF": "General setting"}
PANELS: dict[str, tuple[Method, Method, Method]] = {
    "With structure": ("network", "ntk", "rf"),
    "Without structure": ("network_unstructured", "ntk_unstructured", "rf_unstructured"),
}


def draw_methods(table: str, runs: Sequence[MethodRun]) -> list[Picture]:
    """Draw for every part of a table: the numbers, the curves and the neurons' directions.

    Args:
        table: such as "tab1".
        runs: of it.
    """
    pictures = []
    for group in sorted(by_setting(runs), key=lambda group: _axis(table, group[0])):
        first = group[0]
        label = part_label(table, first.config)
        suffix = f", {label.replace('=', ' = ').replace('_', ' ')}" if label else ""
        if "network" in first.result.methods:
            pictures += [_numbers(table, suffix, group), _curves(suffix, group)]
        if first.result.pictures is not None:
            pictures.append(_directions(suffix, first, first.result.pictures))
    return pictures


def _axis(table: str, run: MethodRun) -> float:
    """The setting that tells the parts apart, by which they are sorted."""
    return VARIED[table][1](run.config) if table in VARIED else 0.0


def _numbers(table: str, suffix: str, group: Sequence[MethodRun]) -> Picture:
    """Seeds as dots, printed numbers as diamonds: test accuracy and best cosine of every method."""
    names = [name for name in NAMES if name in group[0].result.methods]
    printed = REPORTED.get((table, part_of(table, group[0].config)), {})
    figure = Figure(figsize=(8.2, 0.34 * len(names) + 1.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for y, name in enumerate(names):
        cell = printed.get(name)
        scores = [run.result.methods[name] for run in group]
        _dots(left, y, [100 * one.test for one in scores], cell.test if cell else None)
        _dots(right, y, [one.cos for one in scores if one.cos is not None], cell.cos if cell else None)
    left.set_yticks(range(len(names)), [NAMES[name] for name in names])
    left.invert_yaxis()
    left.set_xlim(35, 103)
    right.set_xlim(-0.03, 1.03)
    majority = 100 * float(np.mean([run.result.majority for run in group]))
    left.axvline(majority, color=INK, linewidth=0.9, linestyle=":")
    for level in group[0].result.plateaus or []:
        left.axvline(100 * level, color=FAINT, linewidth=0.9, zorder=0)
    finish(left, x="test accuracy (%)", y="", title="Test accuracy", legend=False)
    finish(right, x="largest cosine to the relevant sum", y="", title="Best neuron", legend=False)
    handles = [
        left.plot([], [], "o", color=PALETTE[0], markersize=5, alpha=0.8)[0],
        left.plot([], [], "D", color=PALETTE[1], fillstyle="none", markersize=6)[0],
    ]
    right.legend(
        handles, ["measured, one per seed", "printed"], frameon=False, fontsize=8, loc="upper center"
    )
    caption = (
        f"{_seeds(group).capitalize()}. Dotted: the better constant answer.{_grey(group[0])} One Step, "
        "rescaled: directions after one step with the lengths of step two."
    )
    title = TITLES.get(table) or f"Table {table[3:]}"
    return Picture(f"{title}: measured and printed{suffix}", caption, figure)


def _seeds(group: Sequence[MethodRun]) -> str:
    return f"{len(group)} seeds" if len(group) > 1 else "one seed"


def _grey(run: MethodRun) -> str:
    """What the grey lines are, where there are any."""
    drawn = bool(run.result.plateaus)
    return " Grey: plateaus of threshold functions of the number of relevant patterns." if drawn else ""


def _dots(ax: Axes, y: int, values: Sequence[float], printed: float | None) -> None:
    ax.plot(values, [y] * len(values), "o", color=PALETTE[0], markersize=5, alpha=0.7, markeredgewidth=0)
    if printed is not None:
        ax.plot([printed], [y], "D", color=PALETTE[1], fillstyle="none", markersize=6)


def _curves(suffix: str, group: Sequence[MethodRun]) -> Picture:
    """Test accuracy over the steps with and without input structure, plateaus drawn in."""
    result = group[0].result
    panels = {title: methods for title, methods in PANELS.items() if methods[0] in result.methods}
    majorities = {"With structure": result.majority, "Without structure": result.majority_unstructured}
    figure = Figure(figsize=(3.8 * len(panels), 3.0), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (title, methods) in zip(axes, panels.items(), strict=True):
        for level in result.plateaus or []:
            ax.axhline(level, color=FAINT, linewidth=0.9, zorder=0)
        for index, method in enumerate(methods):
            if method in result.methods:
                curves = [run.result.methods[method].curve for run in group]
                label = NAMES[PANELS["With structure"][index]]
                curve_with_band(ax, result.methods[method].curve_steps, curves, label, index=index)
        majority = majorities[title]
        if majority is not None:
            ax.axhline(majority, color=INK, linewidth=0.9, linestyle=":", label="constant answer")
        ax.set_ylim(0.4, 1.02)
        first = ax is axes[0]
        finish(ax, x="step", y="test accuracy" if first else "", title=title, legend=first)
    lines = f"Mean of {_seeds(group)} with 95% bands" if len(group) > 1 else "One seed"
    caption = f"{lines}. The network's curve starts after its two feature-learning steps.{_grey(group[0])}"
    return Picture(f"Accuracy over the steps{suffix}", caption, figure)


def _directions(suffix: str, run: MethodRun, pictures: dict[str, DirectionPicture]) -> Picture:
    """Neurons in the plane of classical scaling, coloured by their cosine to the ground truth (stars)."""
    stages = [stage for stage in ("start", "one step", "two steps", "end") if stage in pictures]
    figure = Figure(figsize=(2.6 * len(stages) + 0.5, 3.0), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(1, len(stages), squeeze=False)[0]
    shades = None
    for ax, stage in zip(axes, stages, strict=True):
        points = np.array(pictures[stage].points)
        shades = ax.scatter(
            points[:-2, 0], points[:-2, 1], c=np.array(pictures[stage].cosines), cmap="coolwarm", vmin=-1,
            vmax=1, s=16, linewidths=0.3, edgecolors=INK, zorder=2,
        )  # fmt: skip
        ax.plot(*points[-2], "*", color="#B40426", markersize=13, markeredgecolor="white", zorder=3)
        ax.plot(*points[-1], "*", color="#3B4CC0", markersize=13, markeredgecolor="white", zorder=3)
        reach = 1.15 * max(1.0, float(np.abs(points).max()))
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        share = pictures[stage].share
        finish(ax, x=f"{share:.0%} of the spread", y="", title=stage, legend=False)
    if shades is not None:
        bar = figure.colorbar(shades, ax=list(axes), shrink=0.8, pad=0.02)
        bar.set_label("cosine to the truth", fontsize=8)
    caption = (
        f"Seed {run.seed}; {len(pictures[stages[0]].cosines)} of the neurons. Stars: the "
        "ground-truth direction and its negative. Points close together have a cosine near 1."
    )
    return Picture(f"Directions of the neurons{suffix}", caption, figure)
