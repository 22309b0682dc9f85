"""Papers of other people: packages that register in the entry point group `karat.papers`."""

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from karat.errors import reason
from karat.study.paper import Paper
from karat.study.statement import Statement

GROUP = "karat.papers"

_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_ITEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TAKEN = ("index",)
"""The report has one page per paper, beside this one."""

FAULTS = (Exception, SystemExit)
"""What code of somebody else may raise without stopping karat."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A package, or a part of one, that karat leaves out.

    Args:
        package: where the paper was looked for, such as `mypackage` or `mypackage:PAPER`.
        reason: what is wrong with it, in one sentence.
    """

    package: str
    reason: str

    def __str__(self) -> str:
        return f"the paper package `{self.package}` is broken: {self.reason}"


def installed() -> list[EntryPoint]:
    """Return the registered packages in an order that does not depend on the machine."""
    return sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value))


def admitted(
    entries: Iterable[EntryPoint], known: Mapping[str, Paper]
) -> tuple[dict[str, Paper], list[Broken]]:
    """Return the sound papers of these packages by key, and what was wrong with the others.

    Args:
        entries: the packages, as they register.
        known: the papers whose keys are taken.
    """
    papers: dict[str, Paper] = {}
    broken: list[Broken] = []
    for entry in entries:
        try:
            paper = load(entry.value)
            require_free(paper, {**known, **papers})
        except ValueError as error:
            broken.append(Broken(package=entry.value, reason=str(error)))
        else:
            papers[paper.key] = paper
    return papers, broken


def load(address: str) -> Paper:
    """Return the sound paper at "package" or "package:ATTRIBUTE"; a ValueError says what is wrong with it."""
    module, _, attribute = address.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute or "PAPER", None)
    except FAULTS as error:
        raise ValueError(f"it cannot be imported ({sentence(error)}).") from error
    if found is None:
        raise ValueError(f"it has no `{attribute or 'PAPER'}`.")
    if not isinstance(found, Paper):
        raise ValueError(f"its `{attribute or 'PAPER'}` is a {type(found).__name__}, not a Paper.")
    for fault in paper_faults(found):
        raise ValueError(fault)
    return found


def require_free(paper: Paper, known: Mapping[str, Paper]) -> None:
    """Refuse a key that another paper has."""
    if paper.key in known:
        other = known[paper.key].package
        raise ValueError(f"the key `{paper.key}` belongs to the paper in `{other}`; choose another.")


def key_fault(key: object) -> str | None:
    """Say what is wrong with the key of a paper, or nothing.

    >>> key_fault("my/paper")
    "the key 'my/paper' must be lower-case letters, digits, `-` and `_`, a letter first, 40 at most."
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        rule = "must be lower-case letters, digits, `-` and `_`, a letter first, 40 at most"
        return f"the key {key!r} {rule}."
    return f"the key `{key}` names a page of the report; choose another." if key in _TAKEN else None


def paper_faults(paper: Paper) -> Iterator[str]:
    """Say what is wrong with a paper's key and statements, one sentence each."""
    fault = key_fault(paper.key) or _field_fault(paper)
    if fault:
        yield fault
        return
    for statement in paper.statements:
        head, _, item = statement.id.partition(".")
        if head != paper.key or not _ITEM.fullmatch(item) or statement.paper != paper.key:
            rule = f"must have an id `{paper.key}.ITEM` and the paper `{paper.key}`"
            yield f"the statement {statement.id!r} {rule}."
    for name, count in Counter(statement.id for statement in paper.statements).items():
        if count > 1:
            yield f"the statement id `{name}` occurs {count} times."


def _field_fault(paper: Paper) -> str | None:
    """Say which field of a paper is of another type than its lists and pages need, or nothing."""
    fields: dict[str, type] = {"title": str, "venue": str, "year": int, "package": str, "file": str}
    for name, kind in fields.items():
        if not isinstance(getattr(paper, name), kind):
            return f"its {name} must be of type {kind.__name__}, got {getattr(paper, name)!r}."
    members: dict[str, type] = {"authors": str, "statements": Statement}
    for name, kind in members.items():
        value = getattr(paper, name)
        if not isinstance(value, tuple) or not all(isinstance(member, kind) for member in value):
            return f"its {name} must be a tuple of {kind.__name__}, got {str(value)[:60]!r}."
    return None


def experiment_fault(paper: Paper, name: str) -> str | None:
    """Say what is wrong with the name of an experiment, or nothing."""
    if name.startswith(f"{paper.key}.") and _ITEM.fullmatch(name):
        return None
    return f"the experiment `{name}` must have a name `{paper.key}.ITEM`."


def check_fault(paper: Paper, claim_id: str) -> str | None:
    """Say that a check judges nothing the paper states, or nothing."""
    if any(statement.id == claim_id for statement in paper.statements):
        return None
    return f"its check of `{claim_id}` judges no statement of its own; the id must be one of its statements."


def sentence(error: BaseException) -> str:
    """Return the kind of an error and its message on one line, without a full stop."""
    return f"{type(error).__name__}: {reason(error)}" if str(error).strip() else type(error).__name__
