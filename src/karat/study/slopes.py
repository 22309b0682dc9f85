r"""How hypotheses and cost change with the logarithms of the settings, and the best step by that.

A hypothesis such as :math:`m \ge R^4/\mathrm{tol}^2` is a line in logarithms, so that near a
setting the search for the cheapest one inside is a linear program.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from karat.study.axes import Axis
from karat.study.hypothesis import Condition
from karat.study.point import Point

MISSING = 1000.0
"""What a hypothesis missed by a factor e counts against a cost larger by a factor e."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Slopes:
    """Rooms and slopes at one setting.

    Args:
        axes: settings that can be multiplied.
        rooms: (h,) logarithms by which the hypotheses are met, negative where they are not.
        slopes: (h, axes) of the rooms.
        cost: (axes,) slope of the logarithm of the cost.
        ends: (axes,) whether a setting cannot grow.
    """

    axes: Sequence[Axis]
    rooms: np.ndarray
    slopes: np.ndarray
    cost: np.ndarray
    ends: Sequence[bool]

    @classmethod
    def at(cls, point: Point, neighbours: Mapping[Axis, Point]) -> "Slopes":
        """Return the slopes at a setting, from settings beside it.

        Args:
            point: the setting.
            neighbours: axis -> a setting that differs along it alone, smaller only if it cannot grow.
        """
        axes = list(neighbours)
        lengths = [_log_ratio(axis, point, neighbours[axis]) for axis in axes]
        beside = [{c.name: c for c in neighbours[axis].conditions} for axis in axes]
        rows, rooms = [], []
        for condition in point.conditions:
            others = [conditions.get(condition.name) for conditions in beside]
            sign = next((s for one in (condition, *others) if one and (s := _sign(one))), 0)
            ratio = _log(condition)
            if sign and ratio is not None:
                ratios = [None if other is None else _log(other) for other in others]
                pairs = zip(ratios, lengths, strict=True)
                rows.append([0.0 if r is None else sign * (r - ratio) / length for r, length in pairs])
                rooms.append(sign * ratio)
        costs = [math.log(neighbours[axis].weight / point.weight) for axis in axes]
        return cls(
            axes=axes,
            rooms=np.array(rooms),
            slopes=np.array(rows).reshape(len(rooms), len(axes)),
            cost=np.array([cost / length for cost, length in zip(costs, lengths, strict=True)]),
            ends=[length < 0 for length in lengths],
        )

    def best_step(self, reach: float, room: float, *, grow: bool) -> dict[Axis, float]:
        """Return the factors by which settings should be multiplied.

        Args:
            reach: largest step of a logarithm.
            room: how far inside the hypotheses to aim, so that rounding does not leave them.
            grow: whether whole numbers may only grow.
        """
        missing, count = len(self.rooms), len(self.axes)
        if not count:
            return {}
        # Variables: the steps, their sizes (a small price, so that nothing moves in vain), what is missing.
        objective = np.concatenate([self.cost, np.full(count, 1e-4), np.full(missing, MISSING)])
        eye = np.eye(count)
        rows = np.block(
            [
                [-self.slopes, np.zeros((missing, count)), -np.eye(missing)],
                [eye, -eye, np.zeros((count, missing))],
                [-eye, -eye, np.zeros((count, missing))],
            ]
        )
        limits = np.concatenate([self.rooms - room, np.zeros(2 * count)])
        ranges = zip(self.axes, self.ends, strict=True)
        steps_within = [
            (0.0 if grow and axis.whole else -reach, 0.0 if end else reach) for axis, end in ranges
        ]
        bounds = [*steps_within, *[(0, None)] * (count + missing)]
        solved = linprog(objective, A_ub=rows, b_ub=limits, bounds=bounds)
        steps = solved.x[:count] if solved.success else np.zeros(count)
        return {a: math.exp(s) for a, s in zip(self.axes, steps, strict=True) if abs(s) > 1e-9}


def _log_ratio(axis: Axis, point: Point, other: Point) -> float:
    """Logarithm by which a setting, or the first of its numbers, differs."""
    values = [getattr(one.config, axis.name) for one in (point, other)]
    before, after = (value[0] if isinstance(value, tuple) else value for value in values)
    return math.log(after / before)


def _log(condition: Condition) -> float | None:
    value, bound = condition.value, condition.bound
    if value is None or bound is None or not 0 < value < math.inf or not 0 < bound < math.inf:
        return None
    return math.log(value / bound)


def _sign(condition: Condition) -> int:
    """1 if the value must be at least the bound, -1 if at most, 0 where it equals the bound."""
    ratio = _log(condition)
    if not ratio:
        return 0
    return 1 if (ratio > 0) == (condition.status == "met") else -1
