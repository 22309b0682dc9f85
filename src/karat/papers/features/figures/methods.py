"""Figures of the methods' tables: measured beside printed numbers, accuracy over the steps, directions."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.features.checks.reported import NAMES, REPORTED, VARIED, part_label, part_of
from karat.study.drawing.picture import Draw, Picture, by_config
from karat.study.drawing.style import FAINT, INK, PALETTE, curve_with_band, finish
from karat.study.record import Record

METHODS = tuple(name for name in NAMES if name != "ntk_closed")
PLACES = {"hidden": "Hidden representations", "appF": "General setting"}
STAGES = ("start", "one step", "two steps", "end")


def draw_methods(table: str, records: Sequence[Record]) -> list[Picture]:
    """For every part of a table: the numbers, the curves and the neurons' directions."""
    done = [record for record in records if record.status == "done"]
    pictures = []
    for group in sorted(by_config(done), key=lambda group: group[0].config.get(VARIED.get(table, ""), 0)):
        part = part_of(table, group[0].config)
        label = part_label(table, group[0].config)
        suffix = f", {label.replace('=', ' = ').replace('_', ' ')}" if label else ""
        if "network_test" in group[0].values:
            pictures += [_numbers(table, part, suffix, group), _curves(suffix, group)]
        if "pictures" in group[0].values:
            pictures.append(_directions(suffix, group))
    return pictures


def _numbers(table: str, part: str, suffix: str, group: list[Record]) -> Picture:
    """Seeds as dots, printed numbers as diamonds: test accuracy and best cosine of every method."""
    names = [name for name in METHODS if f"{name}_test" in group[0].values]
    printed = REPORTED.get((table, part), {})
    figure = Figure(figsize=(8.2, 0.34 * len(names) + 1.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for y, name in enumerate(names):
        cell = printed.get(name)
        _dots(left, y, [100 * r.values[f"{name}_test"] for r in group], cell.test if cell else None)
        cosines = [r.values[f"{name}_cos"] for r in group if f"{name}_cos" in r.values]
        _dots(right, y, cosines, cell.cos if cell else None)
    left.set_yticks(range(len(names)), [NAMES[name] for name in names])
    left.invert_yaxis()
    left.set_xlim(35, 103)
    right.set_xlim(-0.03, 1.03)
    majority = 100 * float(np.mean([r.values["majority"] for r in group]))
    left.axvline(majority, color=INK, linewidth=0.9, linestyle=":")
    for level in group[0].values.get("plateaus", []):
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
        f"{_seeds(group).capitalize()}. Dotted: the better constant answer.{_grey(group)} One Step, "
        "rescaled: directions after one step with the lengths of step two."
    )
    where = PLACES.get(table) or f"Table {table[3:]}"
    return Picture(f"{where}: measured and printed{suffix}", caption, figure)


def _seeds(group: Sequence[Record]) -> str:
    return f"{len(group)} seeds" if len(group) > 1 else "one seed"


def _grey(group: Sequence[Record]) -> str:
    """What the grey lines are, where there are any."""
    drawn = bool(group[0].values.get("plateaus"))
    return " Grey: plateaus of threshold functions of the number of relevant patterns." if drawn else ""


def _dots(ax: Axes, y: int, values: Sequence[float], printed: float | None) -> None:
    ax.plot(values, [y] * len(values), "o", color=PALETTE[0], markersize=5, alpha=0.7, markeredgewidth=0)
    if printed is not None:
        ax.plot([printed], [y], "D", color=PALETTE[1], fillstyle="none", markersize=6)


def _curves(suffix: str, group: list[Record]) -> Picture:
    """Test accuracy over the steps with and without input structure, plateaus drawn in."""
    values = group[0].values
    endings = [ending for ending in ("", "_unstructured") if f"network{ending}_curve" in values]
    figure = Figure(figsize=(3.8 * len(endings), 3.0), layout="constrained")
    axes = figure.subplots(1, len(endings), sharey=True, squeeze=False)[0]
    for ax, ending in zip(axes, endings, strict=True):
        for level in values.get("plateaus", []):
            ax.axhline(level, color=FAINT, linewidth=0.9, zorder=0)
        for index, name in enumerate(("network", "ntk", "rf")):
            key = f"{name}{ending}_curve"
            if key in values:
                curves = [r.values[key] for r in group]
                curve_with_band(ax, values[f"{key}_steps"], curves, NAMES[name], index=index)
        majority = values[f"majority{ending}"]
        ax.axhline(majority, color=INK, linewidth=0.9, linestyle=":", label="constant answer")
        ax.set_ylim(0.4, 1.02)
        title = "Without structure" if ending else "With structure"
        finish(ax, x="step", y="" if ending else "test accuracy", title=title, legend=not ending)
    shown = f"Mean of {_seeds(group)} with 95% bands" if len(group) > 1 else "One seed"
    caption = f"{shown}. The network's curve starts after its two feature-learning steps.{_grey(group)}"
    return Picture(f"Accuracy over the steps{suffix}", caption, figure)


def _directions(suffix: str, group: list[Record]) -> Picture:
    """Neurons in the plane of classical scaling, coloured by their cosine to the ground truth (stars)."""
    pictures: dict[str, Any] = group[0].values["pictures"]
    stages = [stage for stage in STAGES if stage in pictures]
    figure = Figure(figsize=(2.6 * len(stages) + 0.5, 3.0), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(1, len(stages), squeeze=False)[0]
    shades = None
    for ax, stage in zip(axes, stages, strict=True):
        points = np.array(pictures[stage]["points"])
        cosines = np.array(pictures[stage]["cosines"])
        shades = ax.scatter(
            points[:-2, 0], points[:-2, 1], c=cosines, cmap="coolwarm", vmin=-1, vmax=1, s=16, linewidths=0.3,
            edgecolors=INK, zorder=2,
        )  # fmt: skip
        ax.plot(*points[-2], "*", color="#B40426", markersize=13, markeredgecolor="white", zorder=3)
        ax.plot(*points[-1], "*", color="#3B4CC0", markersize=13, markeredgecolor="white", zorder=3)
        reach = 1.15 * max(1.0, float(np.abs(points).max()))
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        share = pictures[stage]["share"]
        finish(ax, x=f"{share:.0%} of the spread", y="", title=stage, legend=False)
    if shades is not None:
        bar = figure.colorbar(shades, ax=list(axes), shrink=0.8, pad=0.02)
        bar.set_label("cosine to the truth", fontsize=8)
    caption = (
        f"Seed {group[0].seed}; {len(pictures[stages[0]]['points']) - 2} of the neurons. Stars: the "
        "ground-truth direction and its negative. Points close together have a cosine near 1; after two "
        "steps they coincide."
    )
    return Picture(f"Directions of the neurons{suffix}", caption, figure)


METHOD_FIGURES: dict[str, Draw] = {
    f"features.{name}": partial(draw_methods, name)
    for name in ("tab1", "tab2", "tab3", "tab4", "tab5", "hidden", "appF")
}
