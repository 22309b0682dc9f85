"""Findings made of findings: several parts, bounds that say nothing, and what else a reader must know."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from karat.study.finding import Finding, Outcome
from karat.study.judging.common import LEVEL, Undecided, looked
from karat.study.run import Run, by_setting

C = TypeVar("C")
R = TypeVar("R")


def all_of(*findings: Finding) -> Finding:
    """Several parts that must all hold: the worst decides and shows its numbers.

    Of parts that are open the one that leans to fail is shown.

    Args:
        findings: one at least, the most important first.
    """
    order: dict[Outcome, int] = {"fails": 0, "vacuous": 1, "inconclusive": 2, "holds": 3}
    worst = min(findings, key=lambda finding: (order[finding.outcome], order[finding.leaning]))
    if worst.outcome == "fails":  # of several the clearest
        failing = [finding for finding in findings if finding.outcome == "fails"]
        worst = min(failing, key=lambda finding: finding.p_value or 0.0)
    leanings = [finding.leaning for finding in findings]
    p_values = [finding.p_value for finding in findings if finding.p_value is not None]
    outcome, p_value = worst.outcome, None
    if outcome == "holds":
        p_value = max(p_values, default=0.0)
    elif outcome == "fails":  # any part may fail by chance: the clearest of so many must be that much clearer
        p_value = min(1.0, len(findings) * (worst.p_value or 0.0))
        if len(findings) > 1 and p_value > (1 - LEVEL) / (1 if looked() else 2):
            outcome, p_value = "inconclusive", None
    notes = dict.fromkeys(note for finding in (worst, *findings) for note in finding.notes)
    if outcome != worst.outcome:
        notes[f"One part fails when looked at alone, but not clearly enough for one of {len(findings)}."] = (
            None
        )
    seeds, draws = _needed(findings) if outcome == "inconclusive" else (None, None)
    rule = f"all of {len(findings)}: " + ", ".join(finding.outcome for finding in findings)
    return replace(
        worst,
        outcome=outcome,
        leaning="fails" if "fails" in leanings else min(leanings, key=lambda leaning: order[leaning]),
        p_value=p_value,
        seeds_needed=seeds,
        draws_needed=draws,
        notes=tuple(notes),
        trace=(rule, *(step for finding in findings for step in finding.trace)),
    )


def _needed(parts: Sequence[Finding]) -> tuple[int | None, float | None]:
    """Seeds, and how many times as many draws, that settle all open parts; None where one is hopeless."""
    still = [part for part in parts if part.outcome == "inconclusive"]
    if any(part.seeds_needed is None and part.draws_needed is None for part in still):
        return None, None
    seeds = max((part.seeds_needed for part in still if part.seeds_needed), default=None)
    draws = max((part.draws_needed for part in still if part.draws_needed), default=None)
    return seeds, draws


def every_setting(runs: Iterable[Run[C, R]], judge: Callable[[Sequence[Run[C, R]]], Finding]) -> Finding:
    """Judge the seeds of each setting together; all settings must hold.

    Values of several settings in one mean would hide a setting that fails.

    Args:
        runs: of several settings.
        judge: runs of one setting -> finding.
    """
    groups = by_setting(runs)
    if not groups:
        raise Undecided("no run is of the kind that the statement speaks of")
    return all_of(*map(judge, groups))


def vacuous_if(says_nothing: bool, why: str, finding: Finding) -> Finding:
    """A comparison with a bound that says nothing at this size is neither confirmed nor refuted by it.

    Args:
        says_nothing: whether the bound is trivial here.
        why: what makes it trivial, and where it would begin to say something.
        finding: the comparison; one that fails is kept, for a violated bound is not trivial.
    """
    if not says_nothing or finding.outcome == "fails":
        return finding
    return replace(
        finding,
        outcome="vacuous",
        p_value=None,
        seeds_needed=None,
        notes=(f"Vacuous at this size: {why}", *finding.notes),
        trace=("vacuous", *finding.trace),
    )


def noted(finding: Finding, *notes: str) -> Finding:
    """Return the finding with more said about it.

    Args:
        finding: any.
        notes: sentences.
    """
    return replace(finding, notes=(*finding.notes, *filter(None, notes)))
