"""How the statements are judged: measured shares against exact formulas, intervals over seeds."""

from collections.abc import Mapping, Sequence
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
    unmet = [] if config["strength"] >= strength else [f"eta >= {strength:g}/sqrt(d)"]
    return unmet if 2 * Config(**config).eta < 1 else [*unmet, "2 eta < 1"]


def _mean_is_accurate(records: Sequence[Record]) -> Finding:
    exact, values = _exact_mean(records[0], 0.0), values_of(_once(records), "average")
    return worst_finding(
        [tight_finding(values, exact, level=0.99, resolution=0.005), lower_bound_finding(values, 0.99)]
    )


def _mean_is_fragile(records: Sequence[Record]) -> Finding:
    exact, values = _exact_mean(records[0], 2.0), values_of(_once(records), "average_robust")
    return worst_finding(
        [tight_finding(values, exact, level=0.99, resolution=0.005), upper_bound_finding(values, 0.01)]
    )


def _once(records: Sequence[Record]) -> list[Record]:
    """One record per seed: seeds share their draws over the values of `trust`."""
    return select(records, trust=min(record.config["trust"] for record in records))


def _exact_mean(record: Record, radius: float) -> float:
    config = Config(**record.config)
    return gated_accuracy(0.0, config.d, config.eta, config.p_strong, radius * config.eta)


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
        findings.append(
            tight_finding(values_of(chosen, "gated_robust"), predicted, level=0.99, resolution=0.02)
        )
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


CHECKS = (
    Check(claim_id="tsipras2019.sec2.1.average", experiment="tsipras2019.given", evaluate=_mean_is_accurate,
          hypotheses=lambda config: _unmet(config, 3)),
    Check(claim_id="tsipras2019.sec2.1.fragile", experiment="tsipras2019.given", evaluate=_mean_is_fragile,
          hypotheses=lambda config: _unmet(config, 3)),
    Check(claim_id="tsipras2019.sec2.1.strong", experiment="tsipras2019.given", evaluate=_strong_is_robust),
    Check(claim_id="tsipras2019.thm2.1", experiment="tsipras2019.given", evaluate=_bound, headline=True,
          reading="Largest robust accuracy over the bound among 204 classifiers, by exact formulas."),
    Check(claim_id="tsipras2019.thm2.1.tight", experiment="tsipras2019.given", evaluate=_bound_is_attained,
          hypotheses=lambda config: _unmet(config, 0)),
    Check(claim_id="tsipras2019.thm2.2.standard", experiment="tsipras2019.trained", evaluate=_standard,
          hypotheses=lambda config: _unmet(config, 4), headline=True,
          reading="Weights in the unit ball, as the constraint of the proof; accuracies by exact formulas."),
    Check(claim_id="tsipras2019.thm2.2.robust", experiment="tsipras2019.trained", evaluate=_robust,
          hypotheses=lambda config: _unmet(config, 4)),
)  # fmt: skip
