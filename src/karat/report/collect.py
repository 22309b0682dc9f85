"""Read a store and judge every statement on what it holds; nothing is run here."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import get_args

from karat.errors import SourceError
from karat.lab.store import Store
from karat.study.check import Check
from karat.study.claim import Claim, judge_claim
from karat.study.config import hints
from karat.study.experiment import SCALES, Cell, Experiment, cells
from karat.study.family import Family, judge_family
from karat.study.hypothesis import Entry
from karat.study.plan import plan_claim
from karat.study.record import Record
from karat.study.registry import STATEMENTS
from karat.study.settling import Settling, settling
from karat.study.source import source_hash
from karat.study.statement import Statement


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a store holds of one experiment at the scale the report shows.

    Args:
        name: of the experiment.
        title: its question.
        paper: key of its paper, empty for a user's own.
        scale: that is shown, None for a user's own experiment.
        images: the setting `source`, where the store was filled with other images than those here.
        expected: cells of the preset.
        records: those found.
        other: records of further settings and scales.
        stale: records shown that were computed by other source code than karat's present one.
    """

    name: str
    title: str
    paper: str
    scale: str | None
    expected: int
    records: tuple[Record, ...]
    other: int = 0
    stale: int = 0
    images: Mapping[str, str] = field(default_factory=dict)

    def count(self, status: str) -> int:
        """How many of the records ended so."""
        return sum(record.status == status for record in self.records)

    @property
    def lost(self) -> list[Record]:
        """The cells without a result."""
        return [record for record in self.records if record.status != "done"]

    @property
    def cpu_seconds(self) -> float:
        """What the records cost."""
        return sum(record.cpu_seconds for record in self.records)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A statement, how it is checked, and the claim it became.

    Args:
        statement: what the paper says.
        check: how it is tested, None if it cannot be yet.
        claim: the statement as it was judged.
        settling: what would settle an open verdict.
    """

    statement: Statement
    check: Check | None
    claim: Claim
    settling: Settling | None = None

    @property
    def verdict(self) -> str:
        """The verdict, or `not run`."""
        return self.claim.verdict or "not run"

    @property
    def unmet(self) -> tuple[Entry, ...]:
        """The hypotheses that put the claim out of its regime."""
        return tuple(entry for entry in self.claim.ledger if entry.status == "unmet")

    @property
    def other_hypotheses(self) -> tuple[Entry, ...]:
        """The hypotheses that are met, waived or cannot be looked at."""
        return tuple(entry for entry in self.claim.ledger if entry.status != "unmet")


@dataclass(frozen=True, kw_only=True)
class Content:
    """All a report shows.

    Args:
        judged: every statement, in the order of the papers.
        experiments: what the store holds of each.
    """

    judged: tuple[Judged, ...]
    experiments: tuple[Held, ...]

    @cached_property
    def family(self) -> Family:
        """All verdicts together."""
        return judge_family(item.claim for item in self.judged)

    def of(self, paper: str) -> list[Judged]:
        """The judged statements of a paper."""
        return [item for item in self.judged if item.statement.paper == paper]

    def verdicts(self, paper: str | None = None) -> Counter[str]:
        """How often each verdict was given, in one paper or in all."""
        return Counter(item.verdict for item in (self.judged if paper is None else self.of(paper)))


def collect(
    store: Store,
    scale: str | None,
    checks: Mapping[str, Check],
    experiments: Mapping[str, Experiment],
    *,
    others: bool = True,
) -> Content:
    """Judge every statement on the store's records at one scale (or the best one of each experiment).

    Only the records that are shown are decoded: a store may hold many more, of sweeps.

    Reading: without a scale the largest complete one is taken, else the largest one with any record, so that
    a sweep just begun does not hide a finished smaller one. Records of other source code, such as another
    version of karat may have, are judged too and counted.

    Args:
        store: finished cells.
        scale: to be shown, None for the best one of each experiment.
        checks: claim id -> its check.
        experiments: name -> experiment.
        others: whether experiments that are not among these, such as a user's own, are shown as well.
    """
    held = {name: _at_scale(store, experiment, scale) for name, experiment in experiments.items()}
    for name in store.experiments() if others else ():
        if name not in held:
            records = tuple(store.records(name))
            held[name] = Held(
                name=name, title="", paper="", scale=None, expected=len(records), records=records
            )
    judged = []
    for statement in STATEMENTS:
        check = checks.get(statement.id)
        judged.append(_judge(store, statement, check, held))
    return Content(judged=tuple(judged), experiments=tuple(held.values()))


def _judge(store: Store, statement: Statement, check: Check | None, held: Mapping[str, Held]) -> Judged:
    """Judge a statement on the records of the scale that is shown, with those of its controls."""
    blank = Judged(statement=statement, check=check, claim=judge_claim(statement, check, []))
    shown = held.get(check.name) if check else None
    if check is None or shown is None or shown.scale not in check.scales or not shown.records:
        return blank
    known = {record.key: record for name in check.names if name in held for record in held[name].records}
    try:
        plan = plan_claim(check, shown.scale, overrides=shown.images)
        more = _seeds_everywhere(plan.cells, known.values())
        if more > max(cell.seed for cell in plan.cells) + 1:
            plan = plan_claim(check, shown.scale, more, shown.images)
    except ValueError as error:
        return replace(blank, claim=replace(blank.claim, error=f"its cells cannot be planned ({error})"))
    stored = [record for cell in plan.every if (record := known.get(cell.key) or store.get(cell))]
    records, controls = plan.select(stored)
    missing = len(plan.cells) - len(records)
    claim = judge_claim(statement, check, records, shown.scale, controls, added=plan.added, missing=missing)
    return replace(blank, claim=claim, settling=settling(claim, check, plan, stored))


def _seeds_everywhere(planned: Sequence[Cell], records: Iterable[Record]) -> int:
    """How many seeds, counted from zero without a gap, every planned setting has."""
    seeds: dict[str, set[int]] = {cell.config_hash: set() for cell in planned}
    for record in records:
        if record.finished and record.config_hash in seeds:
            seeds[record.config_hash].add(record.seed)
    return min(next(count for count in itertools.count() if count not in own) for own in seeds.values())


def _at_scale(store: Store, experiment: Experiment, scale: str | None) -> Held:
    """Select the records of the scale shown."""
    statuses = store.statuses(experiment.name)
    stored = {config_hash for config_hash, _ in statuses}
    finished = {key for key, status in statuses.items() if status != "failed"}
    chosen, images, expected, hashes = scale, dict[str, str](), 0, set[str]()
    for candidate in (scale,) if scale else reversed(SCALES):
        if candidate not in experiment.presets:
            continue
        change, planned = _planned(experiment, candidate, stored)
        configs = {cell.config_hash for cell in planned}
        complete = all((cell.config_hash, cell.seed) in finished for cell in planned)
        if complete or (configs & stored and not hashes):
            chosen, images, expected, hashes = candidate, change, len(planned), configs
        if complete:
            break
    records = tuple(store.records(experiment.name, hashes)) if hashes else ()
    return Held(
        name=experiment.name,
        title=experiment.title,
        paper=experiment.paper,
        scale=chosen,
        images=images,
        expected=max(expected, len(records)),
        records=records,
        other=len(statuses) - len(records),
        stale=_stale(experiment, records),
    )


def _planned(experiment: Experiment, scale: str, stored: Set[str]) -> tuple[dict[str, str], list[Cell]]:
    """The cells of a scale, on the images of whoever filled the store if those here were not used.

    The setting `source` names the images, and its default says which of them this machine has.
    """
    planned = cells(experiment, scale)
    if not stored or any(cell.config_hash in stored for cell in planned):
        return {}, planned
    for source in get_args(hints(experiment.preset(scale).config).get("source")):
        change = {"source": source}
        with suppress(ValueError):  # images that do not fit the other settings
            others = cells(experiment, scale, overrides=change)
            if any(cell.config_hash in stored for cell in others):
                return change, others
    return {}, planned


def _stale(experiment: Experiment, records: Sequence[Record]) -> int:
    """How many of the records were computed by other source code."""
    if not records:
        return 0
    try:
        present = source_hash(experiment)
    except SourceError:  # edited while this process runs: whoever computes is told, whoever reads goes on
        return 0
    return sum(record.source != present for record in records)
