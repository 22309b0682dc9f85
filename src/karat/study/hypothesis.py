"""The hypotheses of a statement at one setting: met, unmet, waived or not checkable, with value and bound."""

import math
from dataclasses import dataclass
from typing import Literal

Status = Literal["met", "unmet", "waived", "not checkable"]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One hypothesis, looked at in one setting.

    Args:
        name: the hypothesis as the paper writes it, such as `m >= R^4/tol^2`.
        status: what was seen.
        value: the left side at this setting, if it is a number.
        bound: the right side.
        note: for waived ones the sentence with which the paper waives it, for others why it is so.
    """

    name: str
    status: Status
    value: float | None = None
    bound: float | None = None
    note: str = ""

    def __str__(self) -> str:
        """The hypothesis with its numbers.

        >>> str(at_least("m >= R^4/tol^2", 500, 10_000))
        'm >= R^4/tol^2 (500 against 1e+04)'
        """
        numbers = f" ({self.value:.4g} against {self.bound:.4g})" if _both(self) else ""
        return self.name + numbers + (f": {self.note}" if self.note else "")

    @property
    def excess(self) -> float:
        """By which factor an unmet one is missed, 1 for others; infinite where no factor can be told."""
        if self.status != "unmet":
            return 1.0
        if self.value is None or self.bound is None or self.value <= 0 or self.bound <= 0:
            return math.inf
        return max(self.value / self.bound, self.bound / self.value)


def _both(condition: Condition) -> bool:
    return condition.value is not None and condition.bound is not None


def at_least(name: str, value: float, bound: float, note: str = "") -> Condition:
    """Return the condition that a value reaches a bound.

    Args:
        name: as the paper writes it.
        value: at this setting.
        bound: what it must reach.
        note: what a reader must know.
    """
    return Condition(name=name, status=_status(value >= bound), value=value, bound=bound, note=note)


def at_most(name: str, value: float, bound: float, note: str = "") -> Condition:
    """Return the condition that a value stays below a bound.

    Args:
        name: as the paper writes it.
        value: at this setting.
        bound: what it must not exceed.
        note: what a reader must know.
    """
    return Condition(name=name, status=_status(value <= bound), value=value, bound=bound, note=note)


def is_so(name: str, met: bool, note: str = "") -> Condition:
    """Return a condition without numbers, such as `label flips are independent`.

    Args:
        name: as the paper writes it.
        met: whether it is so at this setting.
        note: what a reader must know.
    """
    return Condition(name=name, status=_status(met), note=note)


def waived(name: str, sentence: str) -> Condition:
    """Return a condition that the paper itself says one may drop.

    Args:
        name: the hypothesis.
        sentence: with which the paper waives it, and where.
    """
    return Condition(name=name, status="waived", note=sentence)


def not_checkable(name: str, why: str) -> Condition:
    """Return a condition that no run can look at, such as `C is large enough`.

    Args:
        name: the hypothesis.
        why: it cannot be looked at.
    """
    return Condition(name=name, status="not checkable", note=why)


def _status(met: bool) -> Status:
    return "met" if met else "unmet"
