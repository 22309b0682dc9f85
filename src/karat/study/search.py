"""The search for the cheapest setting at which every hypothesis of a statement is met.

Random starts; then other choices, and steps along linear programs in the logarithms of the numbers; at last
small steps. Settings are ordered first by how far their hypotheses are missed, in decades, then by cost.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from karat.study.axes import LARGEST, Axis, axes_of, changed
from karat.study.check import Check
from karat.study.config import hints
from karat.study.experiment import Experiment
from karat.study.hypothesis import conditions_at
from karat.study.point import Point, order
from karat.study.slopes import Slopes

STARTS, DESCENTS, ROUNDS = 600, 4, 4
"""Random starts, how many of the best and of the others are followed, and how often choices and numbers take
turns."""

POLISHED, STEPS = 3, 600
"""How many of the ends are improved by small steps, and how many settings each size of step looks at."""

FIRST_REACH, LAST_REACH, NEAR = math.log(1000.0), 1e-2, 1.1
"""Largest and smallest step of a logarithm, and by which factor slopes are measured."""

ROOMS = (0.3, 0.03, 1e-3)
"""How far inside the hypotheses steps aim, in logarithms."""

SQUEEZES = (0.9, 0.98, 1.0)
"""By which factors whole numbers are made smaller at last; 1 stands for one less."""

WORTH = 1.05
"""A setting is changed only if that saves this factor of the cost."""

FACTORS = (2.0, 1.25, 1.05, 1.01, 1.002)
"""By which settings are multiplied and divided in the last small steps, coarse ones first."""

EXPONENTS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5)
"""How a second setting moves along with the first one: hypotheses are mostly products of powers."""

REACH = 8.0
"""Decades around the preset in which random starts lie."""


def cost_of(experiment: Experiment, configs: Sequence[Any], seconds: float) -> Callable[[Any], float]:
    """Return the predicted CPU time of a cell as a function of its settings.

    Reading: the experiment's own law `work` where it has one; else time grows with the product of all whole
    numbers among the settings, which is right for dense training and too large elsewhere.

    Args:
        experiment: of the cell.
        configs: of a preset.
        seconds: their mean time.
    """
    work = experiment.work or _product
    known = max(sum(map(work, configs)) / len(configs), 1e-300)
    return lambda config: seconds * work(config) / known


def _product(config: Any) -> float:
    sizes = [getattr(config, name) for name, hint in hints(config).items() if hint is int]
    return math.prod(float(max(size, 1)) for size in sizes)


class Search:
    """Looks at settings and counts them.

    Args:
        check: whose hypotheses.
        own: the settings of the preset, around which it looks.
        law: config -> predicted time.
        fixed: what the search leaves alone.
        generator: of the random starts.
    """

    def __init__(
        self,
        check: Check,
        own: Sequence[Point],
        law: Callable[[Any], float],
        fixed: Mapping[str, Any],
        generator: np.random.Generator,
    ) -> None:
        self.check, self.law, self.generator, self.tried = check, law, generator, len(own)
        configs = [point.config for point in own]
        whole = [name for name, hint in hints(configs[0]).items() if hint is int]
        self.least = {name: min(getattr(config, name) for config in configs) for name in whole}
        self.floor = min(point.weight for point in own)
        self.sizes = [name for name in whole if name not in fixed]
        self.every = axes_of(configs[0], fixed)
        self.axes = [axis for axis in self.every if self._matters(axis, configs)]

    def weight(self, config: Any) -> float:
        """Predicted time, not less than with the preset's own sizes."""
        small = {name: least for name, least in self.least.items() if getattr(config, name) < least}
        grown = changed(config, small) if small else config
        return max(self.law(config), self.floor) if grown is None else self.law(grown)

    def _matters(self, axis: Axis, configs: Sequence[Any]) -> bool:
        """Whether any hypothesis looks at a setting, near the preset or at random settings around it."""
        around = [self.random(configs[i % len(configs)], self.every) for i in range(12)]
        for config in [*configs[:20], *(one for one in around if one is not None)]:
            point = self.look(config)
            moved = (changed(config, {axis.name: value}) for value in self._others(axis, config))
            if point and any(
                other is not None
                and (seen := self.look(other)) is not None
                and seen.conditions != point.conditions
                for other in moved
            ):
                return True
        return False

    def _others(self, axis: Axis, config: Any) -> list[Any]:
        value = getattr(config, axis.name)
        multiplied = [axis.times(value, factor) for factor in (10.0, 0.1)]
        return [*(one for one in multiplied if one is not None), *axis.choices]

    def look(self, config: Any) -> Point | None:
        """A setting with its hypotheses, None if they cannot be computed there or no cell can have it."""
        self.tried += 1
        try:
            weight, seconds = self.weight(config), self.law(config)
            conditions = tuple(conditions_at(self.check, config))
        except (ValueError, ArithmeticError):
            return None
        return Point(config=config, conditions=conditions, seconds=seconds, weight=weight)

    def random(self, config: Any, axes: Sequence[Axis]) -> Any | None:
        """A setting with about half of its settings changed, None if the config refuses it."""
        values = {}
        scale = self.generator.random() * REACH
        for axis in axes:
            if self.generator.random() < 0.5:
                factor = 10.0 ** self.generator.uniform(-scale, scale)
                value = axis.times(getattr(config, axis.name), factor)
                if value is not None:
                    values[axis.name] = value
                elif axis.choices:
                    values[axis.name] = axis.choices[self.generator.integers(len(axis.choices))]
        return changed(config, values)

    def cheapest(self, own: Sequence[Point]) -> Point:
        """The best setting found from random starts around the preset and from its own settings.

        Args:
            own: settings of the preset.
        """
        first = sorted(own, key=order)[:3]
        if not self.axes or first[0].inside:  # the preset has a setting inside: nothing to look for
            return first[0]
        configs = (self.random(first[i % len(first)].config, self.axes) for i in range(STARTS))
        looks = (self.look(config) for config in configs if config is not None)
        starts = sorted((point for point in looks if point is not None), key=order)
        # The best starts often lie in one corner, so others are followed as well.
        spread = starts[: 2 * DESCENTS : 2] + starts[:: max(1, len(starts) // DESCENTS)]
        ends = sorted((self.descend(start) for start in (*first, *spread)), key=order)
        base = first[0].config
        reached = [self.simplified(self.squeezed(self.polished(end, base)), base) for end in ends[:POLISHED]]
        best = min(reached, key=order)
        # Of answers that cost about the same, the one that is told in the fewest words.
        as_good = [p for p in reached if p.missed <= best.missed and p.weight <= WORTH * best.weight]
        return self.settled(min(as_good, key=lambda point: _differences(point.config, base)), base)

    def smaller(self, point: Point) -> Point:
        """A cheaper setting inside, with sizes below those of the preset as well.

        Args:
            point: a setting inside.
        """
        self.least, self.floor = {}, 0.0
        base, start = point.config, self.look(point.config) or point
        return self.settled(self.squeezed(self.polished(self.descend(start), base)), base)

    def descend(self, point: Point) -> Point:
        """Other choices, then other numbers, as long as they help.

        Sizes may first only grow: hypotheses hold for large sizes, and also nearly hold for absurdly small
        ones, from which no step leads inside.
        """
        point = self.slide(self.choose(point), grow=True)
        for _ in range(ROUNDS):
            step = self.slide(self.choose(point), grow=False)
            if order(step) == order(point):
                break
            point = step
        return point

    def choose(self, point: Point) -> Point:
        """The best of all choices, axis by axis; numbers become zero only where that is a hypothesis."""
        for axis in self.axes:
            for value in axis.choices:
                step, number = (
                    self.moved(point, {axis: ("to", value)}),
                    _is_number(getattr(point.config, axis.name)),
                )
                needed = step is not None and (not number or _plain_unmet(step) < _plain_unmet(point))
                if step is not None and needed and order(step) < order(point):
                    point = step
        return point

    def slide(self, point: Point, *, grow: bool, held: Axis | None = None) -> Point:
        """Follow the linear programs of `karat.study.slopes`, in steps that shrink when they fail.

        Args:
            point: where to start.
            grow: whether whole numbers may only grow.
            held: a setting that stays.
        """
        reach, slopes = FIRST_REACH, None
        while reach > LAST_REACH:
            slopes = slopes or Slopes.at(point, self.neighbours(point, held))
            for room in ROOMS:
                factors = slopes.best_step(reach, room, grow=grow)
                step = self.moved(point, {axis: ("times", factor) for axis, factor in factors.items()})
                if step is not None and order(step) < order(point):
                    point, slopes, reach = step, None, min(6 * reach, FIRST_REACH)
                    break
            reach /= 3
        return point

    def neighbours(self, point: Point, held: Axis | None) -> dict[Axis, Point]:
        """For every number a setting in which it is a little larger, or smaller where it cannot grow."""
        found = {}
        for axis in (axis for axis in self.axes if axis != held):
            now = getattr(point.config, axis.name)
            values = [now + 1, now - 1] if axis.whole and isinstance(now, int) and 0 < now < 20 else []
            values += [axis.times(now, factor) for factor in (NEAR, 1 / NEAR)] if axis.number else []
            for value in values:
                step = None if value is None else self.moved(point, {axis: ("to", value)})
                if step is not None and getattr(step.config, axis.name) != now:
                    found[axis] = step
                    break
        return found

    def polished(self, point: Point, base: Any) -> Point:
        """Small steps of one or two settings as long as they help; the first that does is repeated.

        Sizes on which no hypothesis depends, but which had to keep pace, move as well.
        """
        raised = [
            axis
            for axis in self.every
            if axis.whole
            and axis not in self.axes
            and getattr(point.config, axis.name) != getattr(base, axis.name)
        ]
        for factor in FACTORS:
            end, improved = self.tried + STEPS, True
            while improved and self.tried < end:
                improved = False
                for move in moves([*raised, *self.axes], factor):
                    while (step := self.moved(point, move, pace=False)) and order(step) < order(point):
                        point, improved = step, True
        return point

    def moved(self, point: Point, move: Mapping[Axis, tuple[str, Any]], *, pace: bool = True) -> Point | None:
        """The setting after a move, None where there is none.

        Where the config refuses it, or it breaks a hypothesis without numbers, another size that must be as
        large as one that grew is raised with it: orthonormal patterns need d >= D.

        Args:
            point: where to start.
            move: setting -> "to" a value, or "times" a factor.
            pace: whether another size may be raised.
        """
        values = {}
        for axis, (how, by) in move.items():
            values[axis.name] = by if how == "to" else axis.times(getattr(point.config, axis.name), by)
            if how == "times" and values[axis.name] is None:
                return None
        step = self._looked_at(point.config, values)
        if step is not None and _plain_unmet(step) <= _plain_unmet(point):
            return step
        for more in self._keeping_pace(point.config, values) if pace else ():
            other = self._looked_at(point.config, {**values, **more})
            if other is not None and _plain_unmet(other) <= _plain_unmet(point):
                return other
        return step

    def _looked_at(self, config: Any, values: Mapping[str, Any]) -> Point | None:
        other = changed(config, values)
        if other is None:
            self.tried += 1  # refused settings take time, too
        return None if other is None else self.look(other)

    def _keeping_pace(self, config: Any, values: Mapping[str, Any]) -> Iterator[dict[str, int]]:
        """Another size, as large as the largest that grew or four times that."""
        grown = [v for n, v in values.items() if type(v) is int and v > (getattr(config, n) or 0)]
        for size in (max(grown) + 1, 4 * max(grown)) if grown else ():
            for name in self.sizes:
                if name not in values and getattr(config, name) < size < LARGEST:
                    yield {name: size}

    def settled(self, point: Point, base: Any) -> Point:
        """The same with the smallest whole numbers that are as good, where they were raised."""
        for axis in self.every if point.inside else ():
            low, now = (getattr(config, axis.name) for config in (base, point.config))
            while type(low) is type(now) is int and now - low > 1:
                middle = (low + now) // 2
                step = self._looked_at(point.config, {axis.name: middle})
                # A config that wants even numbers may have raised the middle to where we were.
                if (
                    step
                    and step.inside
                    and step.weight <= point.weight
                    and getattr(step.config, axis.name) < now
                ):
                    point, now = step, getattr(step.config, axis.name)
                else:
                    low = middle
        return point

    def squeezed(self, point: Point) -> Point:
        """The same with smaller whole numbers, for which the other settings make up."""
        end = self.tried + 5 * STEPS
        for axis in [axis for axis in self.axes if axis.whole] if point.inside else ():
            for factor in SQUEEZES:
                now = getattr(point.config, axis.name)
                while (
                    self.tried < end and type(now) is int and (value := min(now - 1, round(now * factor))) > 0
                ):
                    step = self._looked_at(point.config, {axis.name: value})
                    step = step and self.slide(step, grow=True, held=axis)
                    if step is None or order(step) >= order(point):
                        break
                    point, now = step, getattr(step.config, axis.name)
        return point

    def simplified(self, point: Point, base: Any) -> Point:
        """The same with settings put back to the preset's where others can make up for it at little cost."""
        most = WORTH * point.weight
        for axis in self.axes if point.inside else ():
            value = getattr(base, axis.name)
            if value == getattr(point.config, axis.name):
                continue
            back = self._looked_at(point.config, {axis.name: value})
            if back is not None and not back.inside:
                back = self.slide(back, grow=True, held=axis)
            if back is not None and back.inside and back.weight <= most:
                point = back
        return point


def moves(axes: Sequence[Axis], factor: float) -> Iterator[dict[Axis, tuple[str, Any]]]:
    """Return changes of one setting, then of two at once.

    Args:
        axes: settings.
        factor: by which they are multiplied and divided.
    """
    numbers = [axis for axis in axes if axis.number]
    for axis in numbers:
        for by in (factor, 1 / factor):
            yield {axis: ("times", by)}
    for i, first in enumerate(numbers):
        for second in numbers[:i]:
            for by in (factor, 1 / factor):
                for exponent in EXPONENTS:
                    yield {first: ("times", by), second: ("times", by**exponent)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain_unmet(point: Point) -> int:
    """How many hypotheses without numbers are unmet."""
    return sum(condition.status == "unmet" and condition.value is None for condition in point.conditions)


def _differences(config: Any, base: Any) -> int:
    """How many settings differ."""
    return sum(getattr(config, name) != getattr(base, name) for name in hints(config))
