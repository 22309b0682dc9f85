"""A setting with its hypotheses and its cost, and which of two settings is better."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from karat.study.hypothesis import Condition

NO_NUMBER = 30.0
"""Decades by which a hypothesis without numbers counts as missed."""

TIGHT = 1.3
"""A hypothesis whose value is within this factor of its bound binds: going cheaper would break it."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A setting with its hypotheses and its cost.

    Args:
        config: the settings.
        conditions: the hypotheses there.
        seconds: predicted CPU time of one seed.
        weight: what a search makes smaller: this time, but not below that of the preset's own sizes.
    """

    config: Any
    conditions: tuple[Condition, ...]
    seconds: float
    weight: float

    @cached_property
    def missed(self) -> float:
        """By how many decades the unmet hypotheses are missed in all; zero inside."""
        unmet = [condition.excess for condition in self.conditions if condition.status == "unmet"]
        return sum(max(math.log10(e), 1e-6) if math.isfinite(e) else NO_NUMBER for e in unmet)

    @property
    def inside(self) -> bool:
        """Whether no hypothesis is unmet."""
        return self.missed == 0

    @property
    def unmet(self) -> tuple[Condition, ...]:
        """The hypotheses that are unmet."""
        return tuple(condition for condition in self.conditions if condition.status == "unmet")

    @property
    def binding(self) -> tuple[Condition, ...]:
        """The hypotheses that are met with hardly any room."""
        return tuple(
            c
            for c in self.conditions
            if c.status == "met" and c.value and c.bound and 1 / TIGHT <= c.value / c.bound <= TIGHT
        )


def order(point: Point) -> tuple[float, float]:
    """What is better comes first: nearer to the hypotheses, then cheaper.

    Args:
        point: a setting.
    """
    return point.missed, point.weight
