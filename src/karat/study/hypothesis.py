"""Hypotheses of a statement, met, unmet, waived or not checkable at a setting; the ledger of a claim."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from karat.errors import KaratError, reason

if TYPE_CHECKING:  # a check speaks of conditions, and its ledger collects them
    from karat.study.check import Check
    from karat.study.run import Run

C = TypeVar("C")
R = TypeVar("R")

Status = Literal["met", "unmet", "waived", "not checkable"]
_ORDER: tuple[Status, ...] = ("unmet", "not checkable", "waived", "met")
"""From worst to best."""


class HypothesesError(KaratError, ValueError):
    """The conditions of a check raise at a setting: an error of the check, no word about its statement."""


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


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One hypothesis over all settings.

    Args:
        condition: at the setting where it stands worst.
        settings: how many were looked at.
        unmet: at how many of them it is unmet.
    """

    condition: Condition
    settings: int
    unmet: int

    @property
    def status(self) -> Status:
        """At the worst setting."""
        return self.condition.status


def ledger_of(check: "Check[C, R]", runs: "Sequence[Run[C, R]]") -> tuple[Entry, ...]:
    """Return the hypotheses of a check at the settings of these runs, each once.

    Args:
        check: whose statement it is.
        runs: those that the finding looked at.
    """
    first_of_setting = {run.config_hash: run for run in runs}
    seen = [condition for run in first_of_setting.values() for condition in conditions_at(check, run.config)]
    seen += [condition for run in runs for condition in check.observed(run)]
    return collected(seen)


def conditions_at(check: "Check[C, R]", config: C) -> Sequence[Condition]:
    """Return the hypotheses of a check at one setting; a HypothesesError if they cannot be computed there.

    Args:
        check: whose statement it is.
        config: the settings.
    """
    try:
        return check.conditions(config)
    except Exception as error:
        kind = type(error).__name__
        raise HypothesesError(
            f"the hypotheses of `{check.claim_id}` cannot be computed ({kind}: {reason(error)})."
        ) from error


def collected(conditions: Iterable[Condition]) -> tuple[Entry, ...]:
    """Return conditions by name, each with the setting where it stands worst.

    Args:
        conditions: of several settings.
    """
    groups: dict[str, list[Condition]] = {}
    for condition in conditions:
        groups.setdefault(condition.name, []).append(condition)
    return tuple(
        Entry(
            condition=min(group, key=lambda one: (_ORDER.index(one.status), -one.excess)),
            settings=len(group),
            unmet=sum(one.status == "unmet" for one in group),
        )
        for group in groups.values()
    )
