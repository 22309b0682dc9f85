"""All papers with their statements, checks, experiments and figures: those in `papers`, and installed ones.

Nothing is looked for before it is asked for: a paper's package imports this one.
"""

import importlib
import pkgutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from karat.study.listing import listed_checks, unknown_checks
from karat.study.outside import (
    FAULTS,
    Broken,
    admitted,
    check_fault,
    experiment_fault,
    installed,
    require_free,
    sentence,
)
from karat.study.paper import Paper
from karat.study.statement import INVERSE, Statement

if TYPE_CHECKING:
    from karat.study.check import Check
    from karat.study.drawing.picture import Draw
    from karat.study.experiment import Experiment
    from karat.study.tables import Make

Entry = TypeVar("Entry")
Room = Literal["experiments", "checks", "figures", "tables"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The entries of a room that cannot be loaded."""


@cache
def _built_in() -> dict[str, Paper]:
    """The PAPER of every package in `karat.papers`, in the order of the papers' texts."""
    spec = find_spec("karat.papers")
    assert spec is not None
    names = [module.name for module in pkgutil.iter_modules(spec.submodule_search_locations)]
    papers: list[Paper] = [importlib.import_module(f"karat.papers.{name}").PAPER for name in names]
    return {paper.key: paper for paper in sorted(papers, key=lambda paper: (paper.file, paper.key))}


@cache
def _papers() -> tuple[dict[str, Paper], dict[Broken, None]]:
    """karat's own papers, then those of other people; and what is wrong with packages of other people."""
    own = _built_in()
    others, broken = admitted(installed(), own)
    return {**own, **others}, dict.fromkeys(broken)


def is_built_in(key: str) -> bool:
    """Whether the paper of this key is karat's own; those may also judge statements of each other."""
    return key in _built_in()


def admit(paper: Paper) -> None:
    """Let a paper whose package is not installed count in this process; its key must be free."""
    require_free(paper, PAPERS)
    _papers()[0][paper.key] = paper
    _by_id.cache_clear()
    executable_ids.cache_clear()


@cache
def _by_id() -> dict[str, Statement]:
    return {statement.id: statement for paper in PAPERS.values() for statement in paper.statements}


class _Papers(Mapping[str, Paper]):
    """Key -> paper."""

    def __getitem__(self, key: str) -> Paper:
        return _papers()[0][key]

    def __iter__(self) -> Iterator[str]:
        return iter(_papers()[0])

    def __len__(self) -> int:
        return len(_papers()[0])


class _Statements(Sequence[Statement]):
    """What all papers say, in their order."""

    @overload
    def __getitem__(self, index: int) -> Statement: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Statement]: ...
    def __getitem__(self, index: int | slice) -> Statement | Sequence[Statement]:
        return tuple(_by_id().values())[index]

    def __iter__(self) -> Iterator[Statement]:
        return iter(tuple(_by_id().values()))

    def __len__(self) -> int:
        return len(_by_id())


class _Faults(Collection[Broken]):
    """What is wrong with packages of other people, as far as it was noticed."""

    def __contains__(self, fault: object) -> bool:
        return fault in _papers()[1]

    def __iter__(self) -> Iterator[Broken]:
        # Packages nobody asked for are not looked at for the sake of their faults.
        return iter(tuple(_papers()[1]) if _papers.cache_info().currsize else ())

    def __len__(self) -> int:
        return len(list(iter(self)))


PAPERS: Mapping[str, Paper] = _Papers()
STATEMENTS: Sequence[Statement] = _Statements()
BROKEN: Collection[Broken] = _Faults()
"""Faults of other people's packages; those inside their rooms are known once the rooms were loaded."""


def _note(paper: Paper, reason: str) -> None:
    _papers()[1][Broken(package=paper.package, reason=reason)] = None


@cache
def _room(key: str, room: Room) -> Mapping[str, Any]:
    """The entries of one paper; what is broken in somebody else's is noted and left out."""
    paper = PAPERS[key]
    if key in _built_in():
        return getattr(paper, room)
    if room != "experiments" and _room(key, "experiments") is _NOTHING:
        return _NOTHING  # the other rooms read its experiments: they would only say the same again
    try:
        entries: Mapping[str, Any] = getattr(paper, room)
    except FAULTS as error:
        _note(paper, f"its {room} cannot be loaded ({sentence(error)}).")
        return _NOTHING
    faults = {name: _fault(paper, room, name, entry) for name, entry in entries.items()}
    for fault in filter(None, faults.values()):
        _note(paper, fault)
    return {name: entry for name, entry in entries.items() if not faults[name]}


def _fault(paper: Paper, room: Room, name: str, entry: Any) -> str | None:
    if room == "checks":
        return check_fault(paper, name) or _unrunnable(paper, entry)
    return experiment_fault(paper, name) if room == "experiments" else None


def _unrunnable(paper: Paper, check: "Check") -> str | None:
    """Say which experiment or scale of a check there is not, or nothing."""
    for experiment in (check.experiment, *check.beside):
        fault = missing_experiment(experiment)
        if fault:
            own = paper.experiments.get(experiment.name) is experiment
            # In the words with which the experiment itself was left out, so that it is said once.
            misnamed = experiment_fault(paper, experiment.name) if own else None
            return misnamed or f"its check of `{check.claim_id}` needs {fault}."
    scales = [scale for scale in check.scales if scale not in check.experiment.presets]
    if scales:
        return f"its check of `{check.claim_id}` needs the scale `{scales[0]}` of `{check.name}`."
    return None


def missing_experiment(experiment: "Experiment") -> str | None:
    """Say that an experiment's name finds none, or another one than this, or nothing.

    Args:
        experiment: that a check, a figure or a package brings along.
    """
    found = EXPERIMENTS.get(experiment.name)
    if found is None:
        return f"the experiment `{experiment.name}`, which there is not"
    if found is not experiment:
        return f"an experiment `{experiment.name}`, whose name belongs to another one"
    return None


class ByPaper(Mapping[str, Entry], Generic[Entry]):
    """A read-only mapping "paper.item" -> entry, so that one paper costs the import of one paper.

    Args:
        room: of a paper, in which its entries are found by name.
    """

    def __init__(self, room: Room) -> None:
        self._room = room

    def _entries(self, key: str) -> Mapping[str, Entry]:
        return _room(key, self._room)

    def __getitem__(self, name: str) -> Entry:
        # A setting of one paper may be run for another: nothing forces a name to begin with its paper.
        first = name.partition(".")[0]
        for key in sorted(PAPERS, key=lambda key: key != first):
            if name in self._entries(key):
                return self._entries(key)[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for key in tuple(PAPERS) for name in self._entries(key))

    def __len__(self) -> int:
        return sum(len(self._entries(key)) for key in tuple(PAPERS))


CHECKS: "Mapping[str, Check]" = ByPaper("checks")
"""Claim id -> its check; a statement without one is `stated` only."""

EXPERIMENTS: "Mapping[str, Experiment]" = ByPaper("experiments")
"""Name -> experiment."""

FIGURES: "Mapping[str, Draw]" = ByPaper("figures")
"""Experiment -> how its records are drawn."""

TABLES: "Mapping[str, Make]" = ByPaper("tables")
"""Experiment -> its own table; all others get the averages of their values."""


@cache
def executable_ids() -> frozenset[str]:
    """The ids of the statements that have a check, read from the source of the checks without running it."""
    found: set[str] = set()
    for key, paper in PAPERS.items():
        if key in _built_in():
            found |= listed_checks(paper, _by_id())
            continue
        own = {statement.id for statement in paper.statements}
        try:
            found |= listed_checks(paper, own)
            for name in unknown_checks(paper, own):
                _note(paper, check_fault(paper, name) or "")
        except FAULTS as error:
            _note(paper, f"its checks cannot be loaded ({sentence(error)}).")
    return frozenset(found)


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
    if claim_id not in _by_id():
        near = get_close_matches(claim_id, _by_id(), n=3, cutoff=0.5)
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        raise ValueError(f"there is no claim `{claim_id}`{hint}; `karat claims` lists them.")
    return _by_id()[claim_id]


def broken_reason(claim_id: str) -> str | None:
    """Say that the package behind a claim is broken, as far as it was looked at, or nothing.

    Args:
        claim_id: of a statement.
    """
    package = PAPERS[get_statement(claim_id).paper].package
    if any(fault.package == package for fault in BROKEN):
        return f"`{claim_id}` cannot be run: the paper package `{package}` is broken."
    return None


def relations(claim_id: str) -> dict[str, list[str]]:
    """Return what a statement has to do with others, in both directions: relation -> ids.

    Args:
        claim_id: of the statement.

    >>> relations("features.thm4")
    {'superseded by': ['features.thm4.repaired']}
    """
    related = {name: list(ids) for name, ids in get_statement(claim_id).relations.items()}
    for other in STATEMENTS:
        for name, ids in other.relations.items():
            if claim_id in ids:
                related.setdefault(INVERSE[name], []).append(other.id)
    return related


def find_experiment(name: str) -> "Experiment":
    """Return karat's experiment of that name, or the one at "package.module:ATTRIBUTE" of the user's code.

    An experiment found at an address carries the address as its name, so that worker processes find it too.
    """
    if ":" in name:
        return replace(_imported(name), name=name)
    if name not in EXPERIMENTS:
        close = get_close_matches(name, EXPERIMENTS, n=1)
        meant = f" (did you mean `{close[0]}`?)" if close else ""
        listed = ", ".join(EXPERIMENTS) or "not there yet"
        raise ValueError(f"there is no experiment `{name}`{meant}; the experiments are {listed}.")
    return EXPERIMENTS[name]


def _imported(name: str) -> "Experiment":
    from karat.study.experiment import Experiment
    from karat.study.source import remember

    module, _, attribute = name.partition(":")
    if module not in sys.modules:
        remember(module)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"there is no experiment at `{name}`: {error}.") from error
    if not isinstance(found, Experiment):
        raise ValueError(f"`{name}` is a {type(found).__name__}, not an Experiment.")
    return found


def coverage() -> dict[str, Coverage]:
    """Count per paper, in the order of the papers."""
    counts = {}
    for key, paper in PAPERS.items():
        executable = sum(statement.id in executable_ids() for statement in paper.statements)
        stated = len(paper.statements) - executable
        counts[key] = Coverage(paper=key, stated=stated, executable=executable)
    return counts
