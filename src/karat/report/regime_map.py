"""A map of two settings: where which hypotheses of a theorem hold."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from karat.study.axes import LARGEST, Axis, axes_of, changed
from karat.study.check import Check
from karat.study.config import hints, require_setting
from karat.study.drawing.style import finish, literal, new_figure
from karat.study.experiment import cells
from karat.study.hypothesis import conditions_at

POINTS, DECADES = 41, 3.0
"""Of the map, along each axis and around the preset."""


def draw_regime(check: Check, scale: str, settings: Mapping[str, Any], x: str, y: str) -> Figure:
    """Draw how many hypotheses are unmet over two settings, and the edge of each.

    Args:
        check: of the claim.
        scale: preset in the middle of the map, its first setting.
        settings: changed in it, as text or typed values.
        x: setting along the horizontal axis, a number.
        y: setting along the vertical axis, a number.
    """
    experiment = check.experiment
    for name in (x, y, *settings):
        require_setting(name, hints(experiment.preset(scale).config), experiment.name)
    base = cells(experiment, scale, 1, settings)[0].config
    numbers = {axis.name: axis for axis in axes_of(base, {}) if axis.number}
    for name in (x, y):
        value = getattr(base, name)
        if name not in numbers or not isinstance(value, int | float) or not 0 < value < LARGEST:
            raise ValueError(f"`{name}` of `{experiment.name}` is no positive number: it cannot be an axis.")
    values = {name: _values(numbers[name], getattr(base, name)) for name in (x, y)}
    shape = (len(values[y]), len(values[x]))
    refused = np.zeros(shape, dtype=bool)
    unmet: dict[str, np.ndarray] = {}
    for row, b in enumerate(values[y]):
        for column, a in enumerate(values[x]):
            config = changed(base, {x: a, y: b})
            refused[row, column] = config is None
            for condition in () if config is None else conditions_at(check, config):
                unmet.setdefault(condition.name, np.zeros(shape))[row, column] = condition.status == "unmet"
    return _figure(check, base, values, unmet, refused)


def _values(axis: Axis, middle: float) -> list[Any]:
    """Values around the middle, evenly spaced in logarithms, each once."""
    factors = 10 ** np.linspace(-DECADES, DECADES, POINTS)
    multiplied = [axis.times(middle, float(factor)) for factor in factors]
    return sorted({value for value in multiplied if value is not None})


def _figure(
    check: Check,
    base: Any,
    values: Mapping[str, list[Any]],
    unmet: Mapping[str, np.ndarray],
    refused: np.ndarray,
) -> Figure:
    x, y = values
    figure, (ax,) = new_figure(1, width=7.0, height=5.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    count = np.ma.masked_array(sum(unmet.values(), np.zeros(refused.shape)), refused)
    most = max(1, int(count.max() if count.count() else 1))
    # One pale colour per number of unmet hypotheses; white is inside, grey what no run can have.
    colours = ListedColormap(["white", *matplotlib.colormaps["YlOrRd"](np.linspace(0.1, 0.6, most))])
    image = ax.pcolormesh(
        values[x],
        values[y],
        count,
        cmap=colours.with_extremes(bad="lightgrey"),
        vmin=-0.5,
        vmax=most + 0.5,
        shading="nearest",
    )
    figure.colorbar(image, ax=ax, label="unmet hypotheses", ticks=range(most + 1))
    for index, (name, table) in enumerate(unmet.items()):
        if 0 < table.mean() < 1 and min(table.shape) > 1:
            ax.contour(values[x], values[y], table, levels=[0.5], colors=f"C{index % 10}", linewidths=1.2)
            ax.plot([], [], color=f"C{index % 10}", label=literal(name[:60]))
    ax.plot(getattr(base, x), getattr(base, y), "k+", markersize=10, label="the setting asked for")
    finish(ax, x=literal(x), y=literal(y), title=literal(check.claim_id), legend=False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize=8)
    return figure
