"""How anything is asked and judged: statements, experiments, records, checks, claims, papers."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.study.check import Check
    from karat.study.claim import Claim, claim_json, judge_claim
    from karat.study.finding import Finding
    from karat.study.paper import Paper
    from karat.study.registry import (
        CHECKS,
        EXPERIMENTS,
        PAPERS,
        STATEMENTS,
        coverage,
        executable_ids,
        get_statement,
        relations,
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
    "relations",
]
