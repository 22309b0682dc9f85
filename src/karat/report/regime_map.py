"""A map of two settings: where which hypotheses of a theorem hold."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from karat.study.check import Check
from karat.study.config import hints, require_setting
from karat.study.drawing.style import finish, literal, new_figure
from karat.study.hypothesis import conditions_at

POINTS, DECADES = 41, 3.0
"""Of the map, along each axis and around the preset."""


def draw_regime(check: Check, scale: str, settings: Mapping[str, Any], x: str, y: str) -> Figure:
    """Draw how many hypotheses are unmet over two settings, and the edge of each.

    Args:
        check: of the claim.
        scale: preset in the middle of the map.
        settings: changed in it.
        x: setting along the horizontal axis, a number.
        y: setting along the vertical axis, a number.
    """
    base = replace(check.experiment.preset(scale).config, **settings)
    known = hints(base)
    for name in (x, y):
        require_setting(name, known, check.experiment.name)
        if known[name] not in (int, float) or not getattr(base, name) > 0:
            raise ValueError(
                f"`{name}` of `{check.experiment.name}` is no positive number: it cannot be an axis."
            )
    axes = {name: _axis(getattr(base, name), whole=known[name] is int) for name in (x, y)}
    status: dict[str, np.ndarray] = {}
    for row, b in enumerate(axes[y]):
        for column, a in enumerate(axes[x]):
            for condition in _conditions(check, base, {x: a, y: b}):
                table = status.setdefault(condition.name, np.zeros((len(axes[y]), len(axes[x]))))
                table[row, column] = condition.status == "unmet"
    return _figure(check, base, (x, y), axes, status)


def _axis(middle: float, *, whole: bool) -> list[Any]:
    values = [middle * 10**e for e in np.linspace(-DECADES, DECADES, POINTS)]
    return sorted({max(1, round(value)) for value in values}) if whole else values


def _conditions(check: Check, base: Any, values: Mapping[str, Any]) -> list[Any]:
    try:
        return list(conditions_at(check, replace(base, **values)))
    except (TypeError, ValueError):  # the config refuses such a setting: nothing to show there
        return []


def _figure(
    check: Check, base: Any, names: tuple[str, str], axes: Mapping[str, list[Any]], status: Mapping[str, Any]
) -> Figure:
    x, y = names
    figure, (ax,) = new_figure(1, width=7.0, height=4.6)
    ax.set_xscale("log")
    ax.set_yscale("log")
    shape = (len(axes[y]), len(axes[x]))
    unmet = sum(status.values(), np.zeros(shape))
    image = ax.pcolormesh(axes[x], axes[y], unmet, cmap="YlOrRd", vmin=0, shading="nearest")
    figure.colorbar(image, ax=ax, label="unmet hypotheses")
    for index, (name, table) in enumerate(status.items()):
        if 0 < table.mean() < 1:
            ax.contour(axes[x], axes[y], table, levels=[0.5], colors=f"C{index}", linewidths=1.2)
            ax.plot([], [], color=f"C{index}", label=literal(name[:60]))
    ax.plot(getattr(base, x), getattr(base, y), "k+", markersize=10, label="the setting asked for")
    finish(ax, x=literal(x), y=literal(y), title=literal(check.claim_id))
    return figure
