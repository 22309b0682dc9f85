"""All statements with their checks: look one up, count what is executable."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from karat.claims.papers import PAPERS, STATEMENTS
from karat.claims.statement import Statement
from karat.experiments.table import Table

if TYPE_CHECKING:
    from karat.claims.claim import Check

_BY_ID = {statement.id: statement for statement in STATEMENTS}

CHECKED = ("benign", "purification", "features", "lazy", "convergence")
"""Packages below `karat.claims`; each holds a tuple CHECKS."""

CHECKS: "Mapping[str, Check]" = Table("karat.claims", CHECKED, "CHECKS", lambda check: check.claim_id)
"""Claim id -> its check; a statement without one is `stated` only. Each paper is imported when asked for."""

INDEX = "executable.txt"
"""The keys of CHECKS in a file, so that listing needs none of the imports behind the checks."""


@cache
def executable_ids() -> frozenset[str]:
    """Return the ids of the statements that have a check, as the index says."""
    return frozenset((files("karat.claims") / INDEX).read_text(encoding="utf-8").split())


def index_text() -> str:
    """Return what the index must hold: the id of every check, sorted; `python -m karat.claims` writes it."""
    return "".join(f"{claim_id}\n" for claim_id in sorted(CHECKS))


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
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        raise ValueError(f"there is no claim `{claim_id}`{hint}; `karat claims` lists them.")
    return _BY_ID[claim_id]


def coverage() -> dict[str, Coverage]:
    """Count per paper, in the order of the papers."""
    checks = executable_ids()
    counts = {}
    for key in PAPERS:
        ids = [statement.id for statement in STATEMENTS if statement.paper == key]
        executable = sum(claim_id in checks for claim_id in ids)
        counts[key] = Coverage(paper=key, stated=len(ids) - executable, executable=executable)
    return counts
