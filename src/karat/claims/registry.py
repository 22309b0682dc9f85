"""All statements with their checks: look one up, count what is executable."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from karat.claims import benign
from karat.claims.claim import Check
from karat.claims.papers import PAPERS, STATEMENTS
from karat.claims.statement import Statement

_BY_ID = {statement.id: statement for statement in STATEMENTS}

CHECKS: Mapping[str, Check] = MappingProxyType(
    {check.claim_id: check for paper in (benign,) for check in paper.CHECKS}
)
"""Claim id -> its check; a statement without one is `stated` only."""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How many statements of a paper can be run (`executable`) and how many are only `stated`."""

    paper: str
    stated: int
    executable: int

    @property
    def total(self) -> int:
        """Number of statements of the paper."""
        return self.stated + self.executable


def get_statement(claim_id: str) -> Statement:
    """Return the statement of an id; the message of an unknown one offers the nearest.

    >>> get_statement("benign.thm3.1.3").ref
    'benign, Thm 3.1(3)'
    """
    if claim_id not in _BY_ID:
        near = get_close_matches(claim_id, _BY_ID, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ";"
        raise ValueError(f"unknown claim {claim_id!r}{hint} see `karat claims`")
    return _BY_ID[claim_id]


def coverage(checks: Mapping[str, Check] = CHECKS) -> dict[str, Coverage]:
    """Count per paper, in the order of the papers."""
    counts = {}
    for key in PAPERS:
        ids = [statement.id for statement in STATEMENTS if statement.paper == key]
        executable = sum(claim_id in checks for claim_id in ids)
        counts[key] = Coverage(paper=key, stated=len(ids) - executable, executable=executable)
    return counts
