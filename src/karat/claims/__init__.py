"""The papers' statements as claims: what is reported, predicted and measured, and the verdict.

Statements are here at once; what judges them is loaded when first used, so that listing stays quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from karat.claims.papers import PAPERS, STATEMENTS
from karat.claims.references import resolve_ref
from karat.claims.registry import CHECKS, Coverage, coverage, executable_ids, get_statement
from karat.claims.statement import KINDS, Paper, Statement

if TYPE_CHECKING:
    from karat.claims.claim import Check, Claim, Finding, claim_json, judge_claim
    from karat.claims.evaluate import (
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
    "KINDS",
    "PAPERS",
    "STATEMENTS",
    "Check",
    "Claim",
    "Coverage",
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
    "resolve_ref",
    "tight_finding",
    "upper_bound_finding",
    "values_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"karat.claims.{_HOME[name]}"), name)
    raise AttributeError(f"module 'karat.claims' has no attribute {name!r}")
