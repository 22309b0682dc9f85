"""All papers with their statements, checks, experiments and figures, found by walking `papers`."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from karat.study.listing import listed_checks
from karat.study.paper import Paper
from karat.study.statement import Statement

if TYPE_CHECKING:
    from karat.study.claim import Check
    from karat.study.drawing.picture import Draw
    from karat.study.experiment import Experiment
    from karat.study.tables import Make

Entry = TypeVar("Entry")


def _discovered() -> dict[str, Paper]:
    """The PAPER of every package in `karat.papers`, in the order of the papers' texts."""
    spec = find_spec("karat.papers")
    assert spec is not None
    names = [module.name for module in pkgutil.iter_modules(spec.submodule_search_locations)]
    papers: list[Paper] = [importlib.import_module(f"karat.papers.{name}").PAPER for name in names]
    return {paper.key: paper for paper in sorted(papers, key=lambda paper: (paper.file, paper.key))}


PAPERS: Mapping[str, Paper] = MappingProxyType(_discovered())
STATEMENTS: tuple[Statement, ...] = tuple(s for paper in PAPERS.values() for s in paper.statements)
_BY_ID = {statement.id: statement for statement in STATEMENTS}


class ByPaper(Mapping[str, Entry], Generic[Entry]):
    """A read-only mapping "paper.item" -> entry, so that one paper costs the import of one paper.

    Args:
        entries: the entries of one paper by name.
    """

    def __init__(self, entries: Callable[[Paper], Mapping[str, Entry]]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> Entry:
        paper = PAPERS.get(name.partition(".")[0])
        if paper is not None and name in self._entries(paper):
            return self._entries(paper)[name]
        # A setting of one paper may be run for another: nothing forces a name to begin with its paper.
        for other in PAPERS.values():
            if name in self._entries(other):
                return self._entries(other)[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for paper in PAPERS.values() for name in self._entries(paper))

    def __len__(self) -> int:
        return sum(len(self._entries(paper)) for paper in PAPERS.values())


CHECKS: "Mapping[str, Check]" = ByPaper(lambda paper: paper.checks)
"""Claim id -> its check; a statement without one is `stated` only."""

EXPERIMENTS: "Mapping[str, Experiment]" = ByPaper(lambda paper: paper.experiments)
"""Name -> experiment."""

FIGURES: "Mapping[str, Draw]" = ByPaper(lambda paper: paper.figures)
"""Experiment -> how its records are drawn."""

TABLES: "Mapping[str, Make]" = ByPaper(lambda paper: paper.tables)
"""Experiment -> its own table; all others get the averages of their values."""


@cache
def executable_ids() -> frozenset[str]:
    """The ids of the statements that have a check, read from the source of the checks without running it."""
    return frozenset(name for paper in PAPERS.values() for name in listed_checks(paper, _BY_ID))


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How many statements of a paper can be run.

    Args:
        paper: its key.
        stated: statements without a check.
        executable: statements with one.
    """

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
    counts = {}
    for key, paper in PAPERS.items():
        executable = sum(statement.id in executable_ids() for statement in paper.statements)
        stated = len(paper.statements) - executable
        counts[key] = Coverage(paper=key, stated=stated, executable=executable)
    return counts
