"""How anything is asked and judged: statements, experiments, records, checks, claims, papers.

Statements are here at once; what judges them is loaded when first used, so that listing stays quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from karat.study.paper import Paper
from karat.study.registry import (
    CHECKS,
    EXPERIMENTS,
    PAPERS,
    STATEMENTS,
    coverage,
    executable_ids,
    get_statement,
)
from karat.study.statement import KINDS, Statement

if TYPE_CHECKING:
    from karat.study.claim import Check, Claim, Finding, claim_json, judge_claim
    from karat.study.evaluate import (
        lower_bound_finding,
        rate_finding,
        tight_finding,
        upper_bound_finding,
        values_of,
    )

_HOME = {
    "Check": "claim",
    "Claim": "claim",
    "Finding": "claim",
    "claim_json": "claim",
    "judge_claim": "claim",
    "lower_bound_finding": "evaluate",
    "rate_finding": "evaluate",
    "tight_finding": "evaluate",
    "upper_bound_finding": "evaluate",
    "values_of": "evaluate",
}

__all__ = [
    "CHECKS",
    "EXPERIMENTS",
    "KINDS",
    "PAPERS",
    "STATEMENTS",
    "Check",
    "Claim",
    "Finding",
    "Paper",
    "Statement",
    "claim_json",
    "coverage",
    "executable_ids",
    "get_statement",
    "judge_claim",
    "lower_bound_finding",
    "rate_finding",
    "tight_finding",
    "upper_bound_finding",
    "values_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"karat.study.{_HOME[name]}"), name)
    raise AttributeError(f"module 'karat.study' has no attribute {name!r}")
