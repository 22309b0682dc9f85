"""Read a store and judge every statement on what it holds; nothing is run here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karat.errors import SourceError
from karat.lab.store import Store
from karat.study.claim import SCALES, Check, Claim, judge_claim
from karat.study.experiment import Experiment, cells
from karat.study.record import Record
from karat.study.registry import STATEMENTS
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
    """

    statement: Statement
    check: Check | None
    claim: Claim

    @property
    def verdict(self) -> str:
        """The verdict, or `not run`."""
        return self.claim.verdict or "not run"


@dataclass(frozen=True, kw_only=True)
class Content:
    """All a report shows."""

    judged: tuple[Judged, ...]
    runs: tuple[Held, ...]

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
) -> Content:
    """Judge every statement on the store's records at one scale (or the best one of each experiment).

    Args:
        store: finished cells.
        scale: to be shown, None for the best one of each experiment.
        checks: claim id -> its check.
        experiments: name -> experiment.

    Reading: without a scale the largest complete one is taken, else the largest one with any record, so that
    a sweep just begun does not hide a finished smaller one. Records of other source code, such as another
    version of karat may have, are judged too and counted.
    """
    held: dict[str, list[Record]] = {name: [] for name in experiments}
    for record in store.records():
        held.setdefault(record.experiment, []).append(record)
    runs = {name: _run(name, experiments.get(name), records, scale) for name, records in held.items()}
    judged = []
    for statement in STATEMENTS:
        check = checks.get(statement.id)
        held_runs = [runs[name] for name in check.names if name in runs] if check else []
        fitting = [run for run in held_runs if check and run.scale in check.scales]
        records = [record for run in fitting for record in run.records]
        shown = fitting[0].scale if records else None
        claim = judge_claim(statement, check, records, shown)
        judged.append(Judged(statement=statement, check=check, claim=claim))
    return Content(judged=tuple(judged), runs=tuple(runs.values()))


def _run(name: str, experiment: Experiment | None, held: Sequence[Record], scale: str | None) -> Held:
    """Select the records of the scale shown; an experiment that is not karat's own has no scale."""
    if experiment is None:
        found = tuple(held)
        return Held(name=name, title="", paper="", scale=None, expected=len(found), records=found)
    chosen, expected = scale, 0
    records: tuple[Record, ...] = ()
    for candidate in (scale,) if scale else reversed(SCALES):
        if candidate not in experiment.presets:
            continue
        wanted = cells(experiment, candidate)
        hashes = {cell.config_hash for cell in wanted}
        found = tuple(record for record in held if record.config_hash in hashes)
        finished = {record.key for record in found if record.finished}
        complete = all(cell.key in finished for cell in wanted)
        if complete or (found and not records):
            chosen, expected, records = candidate, len(wanted), found
        if complete:
            break
    return Held(
        name=name,
        title=experiment.title,
        paper=experiment.paper,
        scale=chosen,
        expected=max(expected, len(records)),
        records=records,
        other=len(held) - len(records),
        stale=_stale(experiment, records),
    )


def _stale(experiment: Experiment, records: Sequence[Record]) -> int:
    """How many of the records were computed by other source code."""
    if not records:
        return 0
    try:
        present = source_hash(experiment)
    except SourceError:  # edited while this process runs: whoever computes is told, whoever reads goes on
        return 0
    return sum(record.source != present for record in records)
