r"""Where the hypotheses of a statement hold, and the cheapest setting at which all of them do.

The search runs over the numbers of a config on a logarithmic scale: random starts, then steps that multiply
one or two settings, ordered first by how far the hypotheses are missed and then by cost.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from karat.study.check import Check
from karat.study.config import hints
from karat.study.experiment import Experiment, cells
from karat.study.hypothesis import Condition, Entry, collected, conditions_at

STARTS, ROUNDS = 400, 60
FACTORS = (10.0, 2.0, 1.25, 1.05, 1.01)
"""By which settings are multiplied and divided, coarse steps first."""

REACH = 8.0
"""Decades around the preset in which random starts lie."""

TIGHT = 1.3
"""A hypothesis whose value is within this factor of its bound binds: going cheaper would break it."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A setting with its hypotheses and its cost.

    Args:
        config: the settings.
        conditions: the hypotheses there.
        seconds: predicted CPU time of one seed.
    """

    config: Any
    conditions: tuple[Condition, ...]
    seconds: float

    @cached_property
    def missed(self) -> float:
        """By how many decades the unmet hypotheses are missed in all; zero inside."""
        decades = [math.log10(c.excess) if math.isfinite(c.excess) else 30.0 for c in self.conditions]
        unmet = [max(d, 1e-6) for d, c in zip(decades, self.conditions, strict=True) if c.status == "unmet"]
        return sum(unmet)

    @property
    def inside(self) -> bool:
        """Whether no hypothesis is unmet."""
        return self.missed == 0

    @property
    def binding(self) -> tuple[Condition, ...]:
        """The hypotheses that are met with hardly any room."""
        return tuple(
            c
            for c in self.conditions
            if c.status == "met" and c.value and c.bound and 1 / TIGHT <= c.value / c.bound <= TIGHT
        )


@dataclass(frozen=True, kw_only=True)
class Regime:
    """The answer to: which hypotheses hold here, and where do all of them?

    Args:
        claim_id: of the statement.
        here: the settings of the preset, with what the user has fixed.
        cheapest: the cheapest setting inside that was found; None if there was none.
        changed: which settings it changes in the first setting of the preset, and to what.
        tried: how many settings were looked at.
    """

    claim_id: str
    here: tuple[Point, ...]
    cheapest: Point | None
    changed: Mapping[str, Any]
    tried: int

    @property
    def inside(self) -> tuple[Point, ...]:
        """The settings of the preset at which every hypothesis is met."""
        return tuple(point for point in self.here if point.inside)

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """The hypotheses over all settings of the preset."""
        return collected(condition for point in self.here for condition in point.conditions)


def find_regime(
    check: Check, scale: str = "quick", settings: Mapping[str, Any] | None = None, *, seed: int = 0
) -> Regime:
    """Evaluate the hypotheses of a check at the settings of a preset and search for the cheapest one inside.

    Reading: the search moves only the numbers on which some hypothesis depends, and gains nothing by making
    an experiment smaller than its preset: a net of one neuron may be inside, and says nothing.

    Args:
        check: of the claim.
        scale: preset around which the search begins.
        settings: what is fixed, by the user's wish; the search leaves it alone.
        seed: of the random starts.
    """
    fixed = dict(settings or {})
    experiment = check.experiment
    configs = list({cell.config_hash: cell.config for cell in cells(experiment, scale, 1, fixed)}.values())
    search = _Search(check, configs, experiment.preset(scale).cell_seconds, fixed)
    here = [point for config in configs if (point := search.look(config)) is not None]
    cheapest = search.cheapest(here, np.random.default_rng(seed))
    inside = cheapest if cheapest.inside else None
    return Regime(
        claim_id=check.claim_id,
        here=tuple(here),
        cheapest=inside,
        changed=_changes(configs[0], inside.config) if inside else {},
        tried=search.tried,
    )


def cost_of(experiment: Experiment, base: Any, seconds: float) -> Callable[[Any], float]:
    """Return the predicted CPU time of a cell as a function of its settings.

    Reading: the experiment's own law `work` where it has one; else time grows with the product of all whole
    numbers among the settings, which is right for dense training and too large elsewhere.

    Args:
        experiment: of the cell.
        base: a config whose time is known.
        seconds: that time.
    """
    work = experiment.work or _product
    known = max(work(base), 1e-300)
    return lambda config: seconds * work(config) / known


def _product(config: Any) -> float:
    sizes = [getattr(config, name) for name, hint in hints(config).items() if hint is int]
    return math.prod(float(max(size, 1)) for size in sizes)


class _Search:
    """Looks at settings, counts them, and keeps the best."""

    def __init__(
        self, check: Check, configs: Sequence[Any], seconds: float, fixed: Mapping[str, Any]
    ) -> None:
        self.check, base = check, configs[0]
        self.whole = {name for name, hint in hints(base).items() if hint is int}
        self.least = {name: min(getattr(config, name) for config in configs) for name in self.whole}
        self.law = cost_of(check.experiment, base, seconds)
        numbers = [name for name, hint in hints(base).items() if hint in (int, float)]
        free = [name for name in numbers if name not in fixed and getattr(base, name) > 0]
        self.tried = 0
        self.axes = [name for name in free if any(self._matters(config, name) for config in configs)]

    def cost(self, config: Any) -> float:
        """Predicted time, not less than with the preset's own sizes."""
        small = {n: v for n, v in self.least.items() if getattr(config, n) < v}
        try:
            return self.law(replace(config, **small) if small else config)
        except (TypeError, ValueError):  # these sizes do not fit each other
            return self.law(config)

    def _matters(self, config: Any, name: str) -> bool:
        """Whether any hypothesis looks at a setting."""
        point = self.look(config)
        moved = [self.moved(point, {name: factor}) for factor in (10.0, 0.1)] if point else []
        return any(other is not None and point and other.conditions != point.conditions for other in moved)

    def look(self, config: Any) -> Point | None:
        """A setting with its hypotheses, None if no cell can have it."""
        self.tried += 1
        seconds = self.cost(config)
        if not math.isfinite(seconds):
            return None
        return Point(config=config, conditions=tuple(conditions_at(self.check, config)), seconds=seconds)

    def moved(self, point: Point, factors: Mapping[str, float]) -> Point | None:
        """The setting with some numbers multiplied."""
        values: dict[str, Any] = {}
        for name, factor in factors.items():
            value = getattr(point.config, name) * factor
            if not 0 < value < 1e30:
                return None
            values[name] = max(1, round(value)) if name in self.whole else value
        try:
            return self.look(replace(point.config, **values))
        except (TypeError, ValueError, OverflowError):  # the config refuses such a setting
            return None

    def cheapest(self, here: Sequence[Point], generator: np.random.Generator) -> Point:
        """Random starts around the preset, then descent from the best of them and from its own settings."""
        own = sorted(here, key=_order)[:4]
        if not self.axes:
            return own[0]
        starts = []
        for index in range(STARTS):
            some = generator.random(len(self.axes)) < 0.5
            decades = generator.uniform(-REACH, REACH, len(self.axes)) * generator.random()
            factors = {n: 10.0**e for n, e, s in zip(self.axes, decades, some, strict=True) if s}
            if (start := self.moved(own[index % len(own)], factors)) is not None:
                starts.append(start)
        best = sorted(starts, key=_order)[:4]
        return min((self.descend(start) for start in (*own, *best)), key=_order)

    def descend(self, point: Point) -> Point:
        """Steps of shrinking size, one or two settings at a time, as long as they help."""
        for factor in FACTORS:
            for _ in range(ROUNDS):
                better = self.best_step(point, factor)
                if better is None:
                    break
                point = better
        return point

    def best_step(self, point: Point, factor: float) -> Point | None:
        steps: list[dict[str, float]] = [{n: f} for n in self.axes for f in (factor, 1 / factor)]
        steps += [
            {a: f, b: g}
            for i, a in enumerate(self.axes)
            for b in self.axes[:i]
            for f in (factor, 1 / factor)
            for g in (factor, 1 / factor, factor**2, factor**-2)
        ]
        reached = [found for step in steps if (found := self.moved(point, step)) is not None]
        best = min(reached, key=_order, default=point)
        return best if _order(best) < _order(point) else None


def _order(point: Point) -> tuple[float, float]:
    return point.missed, point.seconds


def _changes(base: Any, config: Any) -> dict[str, Any]:
    names: Sequence[str] = list(hints(base))
    return {n: getattr(config, n) for n in names if getattr(config, n) != getattr(base, n)}
