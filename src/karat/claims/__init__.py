"""The papers' statements as claims: what is reported, predicted and measured, and the verdict."""

from karat.claims.claim import Check, Claim, Finding, claim_json, judge_claim
from karat.claims.evaluate import (
    lower_bound_finding,
    rate_finding,
    tight_finding,
    upper_bound_finding,
    values_of,
)
from karat.claims.papers import PAPERS, STATEMENTS
from karat.claims.references import resolve_ref
from karat.claims.registry import CHECKS, Coverage, coverage, get_statement
from karat.claims.statement import KINDS, Paper, Statement

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
    "get_statement",
    "judge_claim",
    "lower_bound_finding",
    "rate_finding",
    "resolve_ref",
    "tight_finding",
    "upper_bound_finding",
    "values_of",
]
