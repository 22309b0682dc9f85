"""Records of purification: their settings, the hypotheses they break, and readings shared by the checks."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from karat.papers.purification.bounds import unmet_clean, unmet_fragile, unmet_robust
from karat.papers.purification.experiments.regime import Regime
from karat.study.claim import Check, Finding
from karat.study.config import config_from_json
from karat.study.curves import with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.study.record import Record

SMALL = 0.25
"""How o(1) is read at one size: at most a quarter. Only a sweep over d can say that it vanishes."""

FACTOR = 2.0
"""How Theta(.) is read: the constant stays within this factor of one, or of itself over all sizes."""

_REGIME = {field.name for field in fields(Regime)}


def regime_of(config: Mapping[str, Any]) -> Regime:
    """The settings that all experiments share."""
    regime: Regime = config_from_json(Regime, {name: v for name, v in config.items() if name in _REGIME})
    return regime


def clean_hypotheses(config: Mapping[str, Any]) -> list[str]:
    """What the theorems on clean training ask and this run does not give."""
    return unmet_clean(regime_of(config).setting())


def fragile_hypotheses(config: Mapping[str, Any]) -> list[str]:
    """What the theorem on the fragility of the clean net asks and this run does not give."""
    return unmet_fragile(regime_of(config).setting())


def robust_hypotheses(config: Mapping[str, Any]) -> list[str]:
    """What the theorems on adversarial training ask and this run does not give."""
    return unmet_robust(regime_of(config).setting())


def check(item: str, experiment: str, evaluate: Any, *, asymptotic: bool = False, **options: Any) -> Check:
    """A check of purification; an asymptotic one has the hypotheses of clean training."""
    options |= {"hypotheses": clean_hypotheses} if asymptotic else {}
    return Check(
        claim_id=f"purification.{item}", experiment=f"purification.{experiment}", evaluate=evaluate, **options
    )


def plain(records: Sequence[Record]) -> list[Record]:
    """The records of the largest dimension among those with the standard data: what a single number shows."""
    standard = [r for r in records if regime_of(r.config).w_star == "signs" and _usual(regime_of(r.config))]
    chosen = standard or list(records)
    top = max(regime_of(r.config).d for r in chosen)
    return [r for r in chosen if regime_of(r.config).d == top]


def _usual(regime: Regime) -> bool:
    return regime.dictionary == "identity" and regime.sigma_spike == 0


def started(records: Sequence[Record], start: str) -> list[Record]:
    """The records of one kind of start; all of them if there is none of that kind."""
    return [r for r in records if r.config["start"] == start] or list(records)


def at_least(values: Sequence[float], bound: float, *notes: str) -> Finding:
    """A lower bound with notes."""
    return with_caveat(lower_bound_finding(values, bound), *notes)


def at_most(values: Sequence[float], bound: float, *notes: str) -> Finding:
    """An upper bound with notes."""
    return with_caveat(upper_bound_finding(values, bound), *notes)


def worst_case(attacked: Sequence[float], certified: Sequence[float], bound: float, *notes: str) -> Finding:
    """An upper bound on a worst case: it fails if attacks exceed it, and holds only if certificates agree.

    Args:
        attacked: lower ends, what attacks reach.
        certified: upper ends, none if nothing was certified.
    """
    found = at_most(attacked, bound, *notes)
    if found.verdict != "holds" or (certified and upper_bound_finding(certified, bound).verdict == "holds"):
        return found
    high = f"; the certified end is {sum(certified) / len(certified):.3f}" if certified else ""
    return with_caveat(found, f"Only attacks stay below the bound{high}.", verdict="inconclusive")


def both(first: Finding, second: Finding, *notes: str) -> Finding:
    """The first finding's numbers with the worse of two verdicts."""
    order = ("fails", "inconclusive", "holds")
    verdict = min(first.verdict, second.verdict, key=order.index)
    return with_caveat(replace(first, verdict=verdict), second.caveat, *notes)


def hidden(finding: Finding, constant: float, *notes: str) -> Finding:
    """A bound with a hidden constant: missing it at 1 refutes nothing, the needed constant is named."""
    if finding.verdict != "fails":
        return with_caveat(finding, *notes)
    text = f"The hidden constant is taken as 1; the measurement needs {constant:.2g}."
    return with_caveat(replace(finding, verdict="inconclusive"), text, *notes)


def mean(records: Sequence[Record], name: str) -> float:
    """Mean of one value over records."""
    values = values_of(records, name)
    return sum(values) / len(values)
