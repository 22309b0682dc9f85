"""Runs judged setting by setting, and under the hypotheses of Theorem 3.1."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TypeVar

from karat.papers.benign.bounds_hypotheses import P_FAIL, largest_constant, unmet_hypotheses
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.claim import Finding
from karat.study.evaluate import worst_finding
from karat.study.run import Run, by_setting

C = TypeVar("C")
R = TypeVar("R")
Mixture = TypeVar("Mixture", bound=MixtureConfig)

Evaluate = Callable[[Sequence[Run[C, R]]], Finding]


def unmet(run: Run[Mixture, R]) -> list[str]:
    """Return the hypotheses of Theorem 3.1 that a run breaks.

    Args:
        run: from the mixture.
    """
    return unmet_hypotheses(run.config.setting())


def unmet_on_grid(run: Run[Mixture, R]) -> list[str]:
    """Return the same without its numbers, which differ from cell to cell of a grid.

    Args:
        run: from the mixture.
    """
    return [sentence.split(" = ")[0] for sentence in unmet(run)]


def with_hidden_constant(evaluate: Evaluate[Mixture, R]) -> Evaluate[Mixture, R]:
    """Judge a statement that holds for some large C: a failure at the C that a run reaches refutes nothing.

    Args:
        evaluate: what judges it as if the C of every run were large enough.
    """

    @wraps(evaluate)
    def judged(runs: Sequence[Run[Mixture, R]]) -> Finding:
        finding = evaluate(runs)
        depth = min(largest_constant(run.config.setting()) for run in runs)
        if depth == 0:  # a hypothesis without C is broken: the claim will be out of regime whatever is found
            return finding
        note = (
            f"The hypotheses are met up to C = {depth:.2g} at p_fail = {P_FAIL:g}, probability "
            f"{1 - 2 * P_FAIL:g}; the theorem needs some C, unknown."
        )
        verdict = "inconclusive" if finding.verdict == "fails" else finding.verdict
        return replace(finding, verdict=verdict, caveat=" ".join(filter(None, [finding.caveat, note])))

    return judged


def sorted_settings(runs: Iterable[Run[C, R]]) -> list[list[Run[C, R]]]:
    """Return runs of equal settings together, in an order that does not depend on which finished first.

    Args:
        runs: to be grouped.
    """
    return sorted(by_setting(runs), key=lambda group: group[0].config_hash)


def per_setting(evaluate: Evaluate[C, R]) -> Evaluate[C, R]:
    """Judge every setting by itself and report the one that comes out worst.

    Args:
        evaluate: what judges the runs of one setting.
    """

    @wraps(evaluate)
    def judged(runs: Sequence[Run[C, R]]) -> Finding:
        # Of equally bad settings the first is reported.
        return worst_finding([evaluate(group) for group in sorted_settings(runs)])

    return judged
