"""How anything is asked and judged: statements, experiments, records, checks, claims, papers."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.study.claim import Check, Claim, Finding, claim_json, judge_claim
    from karat.study.evaluate import (
        lower_bound_finding,
        rate_finding,
        tight_finding,
        upper_bound_finding,
    )
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
else:
    __getattr__, __dir__ = attach(__name__)

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
]
