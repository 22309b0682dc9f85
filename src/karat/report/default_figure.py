"""The figure any experiment has: every scalar value against the first setting that varies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from karat.core.texts import number
from karat.lab.averages import Average, Group, average_seeds
from karat.study.drawing.picture import Picture, describe
from karat.study.drawing.style import PALETTE, finish, literal, new_figure
from karat.study.record import Record

COLUMNS, MOST_VALUES, MOST_LINES = 4, 12, len(PALETTE)

Point = tuple[Any, Average]


def default_figure(records: Sequence[Record]) -> list[Picture]:
    """Draw mean and 95 % interval over seeds, a panel per value and a line per choice of the other settings.

    Where nothing varies, the seeds stand side by side.
    """
    done = [record for record in records if record.status == "done"]
    groups = average_seeds(done)
    values = list(dict.fromkeys(name for group in groups for name in group.averages))
    drawn = values[:MOST_VALUES]
    axis, *others = (groups[0].varied if groups else {}) or ["seed"]
    pictures = []
    for start in range(0, len(drawn), COLUMNS):
        names = drawn[start : start + COLUMNS]
        figure, panels = new_figure(len(names))
        for axes, name in zip(panels, names, strict=True):
            lines = _seeds(done, name) if axis == "seed" else _lines(groups, name, axis, others)
            for index, (label, points) in enumerate(list(lines.items())[:MOST_LINES]):
                # Seeds have no order: nothing joins them.
                line = 0.0 if axis == "seed" else 1.2
                draw_means(axes, points, color=PALETTE[index], label=literal(label), line=line)
            y = "value" if axis == "seed" else "mean and 95% interval"
            finish(axes, x=literal(axis), y=y, title=literal(name))
        title = ", ".join(names)
        pictures.append(Picture(f"{title} against {axis}", _caption(groups, axis, others, values), figure))
    return pictures


def draw_means(
    axes: Axes, points: Sequence[Point], *, color: str = PALETTE[0], label: str = "", line: float = 1.2
) -> None:
    """Means with their intervals over a setting: numbers in their order, words in the order of the grid.

    Args:
        axes: to draw on.
        points: value of the setting, average.
        color: of line and markers.
        label: for the legend.
        line: width of the line that joins the means.
    """
    if all(isinstance(x, int | float) for x, _ in points):
        points = sorted(points, key=lambda point: point[0])
    else:
        points = [(literal(number(x, missing="None")), average) for x, average in points]
    means = np.array([average.mean for _, average in points])
    ends = np.array(
        [[a.interval.low, a.interval.high] if a.interval else [a.mean, a.mean] for _, a in points]
    )
    bars = np.abs(ends.T - means) if len(points) else np.zeros((2, 0))
    x = [value for value, _ in points]
    style: dict[str, Any] = {"marker": "o", "markersize": 3, "linewidth": line, "capsize": 2}
    axes.errorbar(x, means, yerr=bars, color=color, label=label or None, **style)


def _lines(groups: Sequence[Group], name: str, axis: str, others: Sequence[str]) -> dict[str, list[Point]]:
    """The points of every line by its label, the choice of the settings off the axis."""
    lines: dict[str, list[Point]] = {}
    for group in groups:
        if name in group.averages:
            line = lines.setdefault(describe(group.config, others), [])
            line.append((group.config[axis], group.averages[name]))
    return lines


def _seeds(records: Sequence[Record], name: str) -> dict[str, list[Point]]:
    averages = [(record.seed, average_seeds([record])[0].averages) for record in records]
    return {"": [(seed, average[name]) for seed, average in averages if name in average]}


def _caption(groups: Sequence[Group], axis: str, others: Sequence[str], values: Sequence[str]) -> str:
    """What the lines are, and what is not shown."""
    lines = len({describe(group.config, others) for group in groups})
    notes = [
        "Every seed is a point." if axis == "seed" else "Mean over seeds with its 95 % interval.",
        f"One line for each choice of {', '.join(others)}." if others else "",
        f"The first {MOST_LINES} of {lines} lines." if lines > MOST_LINES else "",
        f"The first {MOST_VALUES} of {len(values)} values." if len(values) > MOST_VALUES else "",
    ]
    return " ".join(filter(None, notes))
