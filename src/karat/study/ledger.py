"""The ledger of a claim: every hypothesis once, over all settings that the claim looked at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from karat.study.check import Check
from karat.study.hypothesis import Condition, Status
from karat.study.run import Run

C = TypeVar("C")
R = TypeVar("R")

_ORDER: tuple[Status, ...] = ("unmet", "not checkable", "waived", "met")


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


def ledger_of(check: Check[C, R], runs: Sequence[Run[C, R]]) -> tuple[Entry, ...]:
    """Return the hypotheses of a check at the settings of these runs, each once.

    Settings that give a hypothesis no number at all leave it unmet.

    Args:
        check: whose statement it is.
        runs: those that the finding looked at.
    """
    first_of_setting = {run.config_hash: run for run in runs}
    seen = [condition for run in first_of_setting.values() for condition in conditions_at(check, run.config)]
    seen += [condition for run in runs for condition in check.observed(run)]
    return collected(seen)


def conditions_at(check: Check[C, R], config: C) -> Sequence[Condition]:
    """Return the hypotheses of a check at one setting.

    Args:
        check: whose statement it is.
        config: the settings.
    """
    try:
        return check.conditions(config)
    except (ValueError, ArithmeticError) as error:
        name = "settings for which the hypotheses can be computed"
        return [Condition(name=name, status="unmet", note=" ".join(str(error).split()))]


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
