"""Records of benign as configs, grouped by setting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from karat.papers.benign import bounds
from karat.papers.benign.experiments.mixture import Config
from karat.study.claim import Finding
from karat.study.config import config_from_json
from karat.study.evaluate import worst_finding
from karat.study.record import Record

Evaluate = Callable[[Sequence[Record]], Finding]


def config_of(record: Record) -> Config:
    """The typed settings of a record."""
    config: Config = config_from_json(Config, record.config)
    return config


def unmet(config: Mapping[str, Any]) -> list[str]:
    """Hypotheses of Theorem 3.1 that a run breaks."""
    read: Config = config_from_json(Config, config)
    return bounds.unmet_hypotheses(read.setting())


def unmet_on_grid(config: Mapping[str, Any]) -> list[str]:
    """The same without its numbers, which differ from cell to cell of a grid."""
    return [sentence.split(" = ")[0] for sentence in unmet(config)]


def with_hidden_constant(evaluate: Evaluate) -> Evaluate:
    """A statement that holds for some large C: a failure at the C that a run reaches refutes nothing."""

    @wraps(evaluate)
    def judged(records: Sequence[Record]) -> Finding:
        finding = evaluate(records)
        depth = min(bounds.largest_constant(config_of(r).setting()) for r in records)
        if depth == 0:
            return finding
        note = (
            f"The hypotheses are met up to C = {depth:.2g} at p_fail = {bounds.P_FAIL:g}, probability "
            f"{1 - 2 * bounds.P_FAIL:g}; the theorem needs some C, unknown."
        )
        verdict = "inconclusive" if finding.verdict == "fails" else finding.verdict
        return replace(finding, verdict=verdict, caveat=" ".join(filter(None, [finding.caveat, note])))

    return judged


def grouped(records: Sequence[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Records by key, keys in increasing order."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return dict(sorted(groups.items()))


def by_setting(records: Sequence[Record]) -> list[list[Record]]:
    """Records of equal settings together."""
    return list(grouped(records, lambda record: record.config_hash).values())


def per_setting(evaluate: Evaluate) -> Evaluate:
    """Judge every setting by itself and report the one that comes out worst."""

    @wraps(evaluate)
    def judged(records: Sequence[Record]) -> Finding:
        return worst_finding([evaluate(group) for group in by_setting(records)])

    return judged
