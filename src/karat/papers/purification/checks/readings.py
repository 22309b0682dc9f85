"""How the checks of purification read its words: hypotheses, o(1), hidden constants, worst cases."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from karat.papers.purification.bounds_hypotheses import unmet_clean, unmet_fragile, unmet_robust
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.claim import Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import Run

C = TypeVar("C", bound=OddNetConfig)
R = TypeVar("R")

SMALL = 0.25
"""How o(1) is read at one size: at most a quarter. Only a sweep over d can say that it vanishes."""

FACTOR = 2.0
"""How Theta(.) is read: the constant stays within this factor of one, or of itself over all sizes."""

PURER = 3.0
"""By which factor the mixture must fall to be called removed."""


def clean_hypotheses(run: Run[C, R]) -> list[str]:
    """What the theorems on clean training ask and this run does not give."""
    return unmet_clean(run.config.theorem_setting())


def fragile_hypotheses(run: Run[C, R]) -> list[str]:
    """What the theorem on the fragility of the clean net asks and this run does not give."""
    return unmet_fragile(run.config.theorem_setting())


def robust_hypotheses(run: Run[C, R]) -> list[str]:
    """What the theorems on adversarial training ask and this run does not give."""
    return unmet_robust(run.config.theorem_setting())


def largest_standard(runs: Iterable[Run[C, R]]) -> list[Run[C, R]]:
    """The runs of the largest dimension among those with the standard data: what a single number shows.

    Args:
        runs: all of an experiment; if none has the standard data, the largest of them all are taken.
    """
    every = list(runs)
    candidates = [run for run in every if _has_standard_data(run.config)] or every
    largest = max(run.config.d for run in candidates)
    return [run for run in candidates if run.config.d == largest]


def _has_standard_data(config: OddNetConfig) -> bool:
    return config.w_star == "signs" and config.dictionary == "identity" and config.sigma_spike == 0


def at_least(values: Sequence[float], bound: float, *notes: str) -> Finding:
    """Judge a lower bound on the mean over seeds.

    Args:
        values: one per seed.
        bound: what they should reach.
        notes: for the caveat.
    """
    return with_caveat(lower_bound_finding(values, bound), *notes)


def at_most(values: Sequence[float], bound: float, *notes: str) -> Finding:
    """Judge an upper bound on the mean over seeds.

    Args:
        values: one per seed.
        bound: what they should not exceed.
        notes: for the caveat.
    """
    return with_caveat(upper_bound_finding(values, bound), *notes)


def worst_case(attacked: Sequence[float], certified: Sequence[float], bound: float, *notes: str) -> Finding:
    """An upper bound on a worst case: it fails if attacks exceed it, and holds only if certificates agree.

    Args:
        attacked: lower ends, what attacks reach, one per seed.
        certified: upper ends, none if nothing was certified.
        bound: what the worst case should not exceed.
        notes: for the caveat.
    """
    finding = at_most(attacked, bound, *notes)
    if finding.verdict != "holds" or (certified and upper_bound_finding(certified, bound).verdict == "holds"):
        return finding
    high = f"; the certified end is {sum(certified) / len(certified):.3f}" if certified else ""
    return with_caveat(finding, f"Only attacks stay below the bound{high}.", verdict="inconclusive")


def both_must_hold(first: Finding, second: Finding, *notes: str) -> Finding:
    """The first finding's numbers with the worse of two verdicts.

    Args:
        first: whose numbers are shown.
        second: only its verdict and its caveat count.
        notes: for the caveat.
    """
    order = ("fails", "inconclusive", "holds")
    verdict = min(first.verdict, second.verdict, key=order.index)
    return with_caveat(first, second.caveat, *notes, verdict=verdict)


def up_to_a_constant(finding: Finding, needed: float, *notes: str) -> Finding:
    """A bound with a hidden constant: missing it at 1 refutes nothing, the needed constant is named.

    Args:
        finding: with the constant taken as 1.
        needed: the constant for which the bound would hold.
        notes: for the caveat.
    """
    if finding.verdict != "fails":
        return with_caveat(finding, *notes)
    text = f"The hidden constant is taken as 1; the measurement needs {needed:.2g}."
    return with_caveat(finding, text, *notes, verdict="inconclusive")


def each(runs: Iterable[Run[C, R]], value: Callable[[R], float]) -> list[float]:
    """One number per run.

    Args:
        runs: of one setting.
        value: result -> number.
    """
    return [float(value(run.result)) for run in runs]


def measured(runs: Iterable[Run[C, R]], name: str, value: Callable[[R], float | None]) -> list[float]:
    """One number per run, of those that not every run has; a KeyError names what is missing.

    Args:
        runs: of one setting.
        name: of the value in the record.
        value: result -> number, None if it was not measured.
    """
    found = [value(run.result) for run in runs]
    present = [number for number in found if number is not None]
    if len(present) < len(found):
        raise KeyError(name)
    return present


def average(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def mean(runs: Iterable[Run[C, R]], value: Callable[[R], float]) -> float:
    """Mean of one number over runs.

    Args:
        runs: of one setting.
        value: result -> number.
    """
    return average(each(runs, value))


def mixture_fall(before: float, after: float) -> float:
    """The factor by which a mixture falls, at most 100.

    Args:
        before: mixture over pure part.
        after: the same later; one that has passed through zero is gone, and any factor would do.
    """
    return min(before / max(abs(after), 1e-6), 100.0)
