"""The contract of a whole package: what can be seen in it, then what its experiments do."""

from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec

from karat.contract.behaviour import behaviour_faults
from karat.contract.fault import Fault
from karat.contract.source import source_faults
from karat.contract.structure import structure_faults
from karat.study import registry
from karat.study.outside import load
from karat.study.paper import Paper


def paper_at(name: str) -> Paper:
    """Return the paper of that key, or the one of that package, which need not be installed.

    A ValueError says that there is no such thing, or what is wrong with it.
    """
    if name in registry.PAPERS:
        return registry.PAPERS[name]
    module = name.partition(":")[0]
    try:
        there = find_spec(module) is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        keys = ", ".join(registry.PAPERS)
        raise LookupError(f"there is no paper and no package `{name}`; the papers are {keys}.")
    return load(name)


def judge_paper(paper: Paper, experiments: Collection[str] | None = None) -> Iterator[Fault]:
    """Yield what a paper's package owes, as soon as it is noticed; `tiny` of its experiments is run for it.

    Args:
        paper: the package's own; one that is not installed counts in this process from here on.
        experiments: names of those to run; all by default, none for an empty list.
    """
    if registry.PAPERS.get(paper.key) is not paper:
        registry.admit(paper)
    faults = [*structure_faults(paper), *source_faults(paper)]
    yield from faults
    broken = {fault.subject for fault in faults}
    for name in paper.experiments if paper.key not in broken else ():
        if name not in broken and (experiments is None or name in experiments):
            yield from behaviour_faults(paper, name)


def violations(paper: Paper, experiments: Collection[str] | None = None) -> list[str]:
    """Return the sentences of all rules that the package breaks; see `judge_paper`."""
    return _sentences([fault for fault in judge_paper(paper, experiments) if fault.level == "violation"])


def _sentences(faults: Sequence[Fault]) -> list[str]:
    return [f"{fault.subject}: {fault.rule}: {fault.reason}" for fault in faults]
