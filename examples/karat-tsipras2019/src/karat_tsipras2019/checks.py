"""How the statements are judged: measured shares against exact formulas, intervals over seeds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from karat.study.claim import Check, Finding
from karat.study.curves import select, with_caveat
from karat.study.evaluate import (
    lower_bound_finding,
    tight_finding,
    upper_bound_finding,
    values_of,
    worst_finding,
)
from karat.study.record import Record
from karat_tsipras2019.bounds import gated_accuracy, gated_gap, robust_bound
from karat_tsipras2019.experiments import Config


def _unmet(config: Mapping[str, Any], strength: float) -> list[str]:
    return [] if config["strength"] >= strength else [f"eta >= {strength:g}/sqrt(d)"]


def _unmet_by_training(config: Mapping[str, Any], strength: float) -> list[str]:
    """The theorem speaks of the distribution's loss and of weights of norm 1; training sees n samples."""
    given, unmet = Config(**config), _unmet(config, strength)
    unmet += [] if given.p_strong <= 0.975 else ["p <= 0.975"]
    # In the unit ball the weights of least adversarial loss are zero below this.
    unmet += [] if 2 * given.eta < 2 * given.p_strong - 1 else ["2 eta < 2 p - 1"]
    return unmet if given.n >= 5 * given.d else [*unmet, "samples stand for the distribution: n >= 5 d"]


def _mean_is_accurate(records: Sequence[Record]) -> Finding:
    return _mean(records, "average", 0, lower_bound_finding, 0.99)


def _mean_is_fragile(records: Sequence[Record]) -> Finding:
    return _mean(records, "average_robust", 2, upper_bound_finding, 0.01)


def _mean(
    records: Sequence[Record], name: str, radius: int, judge: Callable[..., Finding], level: float
) -> Finding:
    """The share of draws against its exact value and against the paper's round number."""
    config, values = Config(**records[0].config), values_of(_once(records), name)
    exact = gated_accuracy(0.0, config.d, config.eta, config.p_strong, radius * config.eta)
    return worst_finding([tight_finding(values, exact, level=0.99, resolution=0.005), judge(values, level)])


def _once(records: Sequence[Record]) -> list[Record]:
    """One record per seed: seeds share their draws over the values of `trust`."""
    return select(records, trust=min(record.config["trust"] for record in records))


def _strong_is_robust(records: Sequence[Record]) -> Finding:
    p, one = records[0].config["p_strong"], _once(records)
    names = ("strong", "strong_robust")
    return worst_finding([tight_finding(values_of(one, n), p, level=0.99, resolution=0.01) for n in names])


def _bound(records: Sequence[Record]) -> Finding:
    return upper_bound_finding(values_of(records, "largest_ratio"), 1.0, deterministic=True)


def _bound_is_attained(records: Sequence[Record]) -> Finding:
    findings, ratios = [], []
    for trust in sorted({record.config["trust"] for record in records}):
        chosen = select(records, trust=trust)
        config = Config(**chosen[0].config)
        given = (trust * config.eta, config.d, config.eta, config.p_strong)
        bound = robust_bound(gated_accuracy(*given), config.p_strong)
        predicted = bound - gated_gap(*given)
        ratios.append(predicted / bound)
        gap = bound - gated_accuracy(*given, tau=2 * config.eta)
        findings.append(tight_finding([gap], gated_gap(*given), deterministic=True))
        values = values_of(chosen, "gated_robust")
        findings.append(tight_finding(values, predicted, level=0.99, resolution=0.02))
    return with_caveat(
        worst_finding(findings), f"Robust accuracy over its bound: {min(ratios):.4f} at least."
    )


def _standard(records: Sequence[Record]) -> Finding:
    plain = select(records, radius=0.0)
    accurate = lower_bound_finding(values_of(plain, "accuracy"), 0.99)
    fragile = upper_bound_finding(values_of(plain, "robust_accuracy"), 0.01)
    return with_caveat(worst_finding([fragile, accurate]), f"Standard accuracy {accurate.measured:.5f}.")


def _robust(records: Sequence[Record]) -> Finding:
    trained = select(records, radius=2.0)
    p = records[0].config["p_strong"]
    names = ("robust_accuracy", "accuracy")
    return worst_finding([lower_bound_finding(values_of(trained, n), p, deterministic=True) for n in names])


def _check(
    item: str, evaluate: Callable[[Sequence[Record]], Finding], strength: float, reading: str = ""
) -> Check:
    trained = item.startswith("thm2.2")
    return Check(
        claim_id=f"tsipras2019.{item}",
        experiment="tsipras2019.trained" if trained else "tsipras2019.given",
        evaluate=evaluate,
        hypotheses=lambda config: (_unmet_by_training if trained else _unmet)(config, strength),
        reading=reading,
        headline=item in ("thm2.1", "thm2.2.robust"),
    )


CHECKS = (
    _check("sec2.1.average", _mean_is_accurate, 3),
    _check("sec2.1.fragile", _mean_is_fragile, 3),
    _check("sec2.1.strong", _strong_is_robust, 0),
    _check("thm2.1", _bound, 0, "Largest robust accuracy over the bound, exact, of 204 classifiers."),
    _check("thm2.1.tight", _bound_is_attained, 0),
    _check("thm2.2.standard", _standard, 4, "Weights in the unit ball; accuracies by exact formulas."),
    _check("thm2.2.robust", _robust, 4, "Weights in the unit ball; accuracies by exact formulas."),
)
