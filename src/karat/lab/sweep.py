"""A sweep: grids times seeds, calibrated first, adaptive if asked, resumed by repeating it."""

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from karat.lab.adaptive import Adaptive, Target
from karat.lab.backlog import Backlog, in_order
from karat.lab.cost import CostModel, Estimate, calibration
from karat.lab.engine import Engine, Feed
from karat.lab.progress import Progress, Silent
from karat.lab.runner import drive, present_sources
from karat.lab.store import Reservations, Sources, Store
from karat.study.experiment import Cell
from karat.study.record import Record, canonical

Listen = Callable[[Estimate, CostModel], object]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Every config of a grid times the same seeds.

    Args:
        experiment: name.
        scale: the preset it grew from.
        cells: all of them.
        target: asks for adaptive seeds, of which `cells` then holds the most there may be.
    """

    experiment: str
    scale: str
    cells: Sequence[Cell] = field(repr=False)
    target: Target | None = None

    @cached_property
    def firsts(self) -> list[Cell]:
        """One cell per config."""
        return list({cell.config_hash: cell for cell in self.cells}.values())

    @cached_property
    def seeds(self) -> int:
        """Seeds per config, at most."""
        return 1 + max(cell.seed for cell in self.cells)

    @cached_property
    def axes(self) -> dict[str, list[Any]]:
        """The settings that vary, with their values as JSON in the order of the grid."""
        values: dict[str, dict[str, Any]] = {}
        for cell in self.firsts:
            for name, value in cell.config_json.items():
                values.setdefault(name, {})[repr(value)] = value
        return {name: list(taken.values()) for name, taken in values.items() if len(taken) > 1}

    def plan(self) -> dict[str, Any]:
        """What is to be computed, as strict JSON."""
        plan = {
            "experiment": self.experiment,
            "scale": self.scale,
            "seeds": self.seeds,
            "axes": self.axes,
            "target": asdict(self.target) if self.target else None,
            "hashes": [cell.config_hash for cell in self.firsts],
        }
        return plan | {"name": hashlib.sha256(canonical(plan).encode()).hexdigest()[:16]}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a sweep ended.

    Args:
        planned: cells of the full grid.
        statuses: status -> cells.
        computed: cells of this call.
        failed: those of them without a result.
        saved: planned cells that adaptive seeds made needless.
        sides: above, below, open -> configs.
        decisions: with a target, for every config its settings on the axes, side, interval and seeds.
    """

    planned: int
    statuses: dict[str, int]
    computed: int
    failed: tuple[Record, ...]
    saved: int
    sides: dict[str, int]
    decisions: tuple[dict[str, Any], ...]


def run_sweep(
    sweep: Sweep,
    store: Store,
    engine: Engine,
    *,
    progress: Progress | None = None,
    fresh: bool = False,
    calibrated: Listen = lambda estimate, model: None,
    only_calibrate: bool = False,
) -> Outcome:
    """Compute what is missing of a sweep and return how it ended; see `run_cells` for what is promised.

    It starts with a few cells one after the other, which show what the rest will cost. Then all configs get
    their first seed before any gets its second, so that a map drawn at any time covers the whole grid.

    Args:
        sweep: what to compute.
        store: where records are kept.
        engine: what computes.
        progress: listener.
        fresh: compute again what other source code has computed.
        calibrated: told what the rest will cost.
        only_calibrate: stop after that.
    """
    plan = sweep.plan()
    store.put_sweep(plan["name"], sweep.experiment, plan)
    sources = present_sources(sweep.cells[:1]) if fresh else None
    ended: dict[tuple[str, int], str] = {}
    failed: dict[tuple[str, int], Record] = {}
    computed = 0
    for record in _iterate(sweep, store, engine, progress or Silent(), sources, calibrated, only_calibrate):
        cell, computed = (record.config_hash, record.seed), computed + 1
        ended[cell] = record.status
        if record.status == "failed":
            failed[cell] = record
    # Read at the end, for others may have finished cells since the sweep began. What failed now counts, even
    # where the store keeps an older record of the cell.
    known = store.statuses(sweep.experiment, set(plan["hashes"])) | ended
    statuses = Counter(status for (_, seed), status in known.items() if seed < sweep.seeds)
    decisions = () if sweep.target is None else _decisions(sweep, _adaptive(sweep, store, sources))
    sides = Counter(str(decision["side"]) for decision in decisions)
    planned = len(sweep.firsts) * sweep.seeds
    return Outcome(
        planned=planned,
        statuses=dict(statuses),
        computed=computed,
        failed=tuple(failed.values()),
        saved=planned - sum(statuses.values()) if sweep.target and not only_calibrate else 0,
        sides=dict(sides),
        decisions=decisions,
    )


def _iterate(
    sweep: Sweep,
    store: Store,
    engine: Engine,
    listener: Progress,
    sources: Sources | None,
    calibrated: Listen,
    only_calibrate: bool,
) -> Generator[Record, None, None]:
    todo = sorted(store.missing(sweep.cells, sources), key=lambda cell: cell.seed)
    planner = _adaptive(sweep, store, sources) if sweep.target else None
    stored, left = len(sweep.cells) - len(todo), planner.left if planner else len(todo)
    trials = [] if len(todo) <= 2 * (len(sweep.axes) + 2) else calibration(sweep.cells, sweep.axes)
    listener.start(stored + left, stored)
    try:
        if left == 0:
            return
        with Reservations(store.path) as reservations:
            missing = store.missing(trials, sources)
            early = {cell.key for cell in missing}
            late = [cell for cell in todo if cell.key not in early]
            rest: Feed = planner or in_order(late)
            feed = _Feed(missing, rest, only_calibrate)
            if trials:
                feed.tell = lambda: _tell(sweep, store, trials, planner, todo, calibrated)
            for record in drive(Backlog(feed, store, reservations, sources), store, engine, listener):
                feed.add(record)
                if planner:
                    planner.add(record)
                yield record
    finally:
        listener.stop()


class _Feed:
    """The cells of the calibration one after the other, then the rest."""

    def __init__(self, trials: Sequence[Cell], rest: Feed, only_calibrate: bool) -> None:
        self._trials, self._rest, self._only = list(trials), rest, only_calibrate
        self._trial: tuple[str, str, int] | None = None
        self._told = False
        self.tell: Callable[[], object] = lambda: None

    def __call__(self) -> Cell | None:
        """Return the next cell; None while a cell of the calibration is on its way."""
        if self._trial is not None:
            return None
        if self._trials:
            cell = self._trials.pop(0)
            self._trial = cell.key
            return cell
        if not self._told:
            self._told = True
            self.tell()
        return None if self._only else self._rest()

    def add(self, record: Record) -> None:
        """Go on when the record awaited is there."""
        if record.key == self._trial:
            self._trial = None


def _adaptive(sweep: Sweep, store: Store, sources: Sources | None) -> Adaptive:
    assert sweep.target is not None
    known = _known(store, sweep.experiment, sweep.firsts, sources)
    return Adaptive(sweep.firsts, sweep.target, sweep.seeds, known)


def _decisions(sweep: Sweep, planner: Adaptive) -> tuple[dict[str, Any], ...]:
    decisions = []
    for cell in sweep.firsts:
        decision = planner.decisions[cell.config_hash]
        interval = None if decision.interval is None else [decision.interval.low, decision.interval.high]
        settings = {name: cell.config_json[name] for name in sweep.axes}
        decisions.append(settings | {"side": decision.side, "interval": interval, "seeds": decision.seeds})
    return tuple(decisions)


def _known(store: Store, experiment: str, cells: Sequence[Cell], sources: Sources | None) -> list[Record]:
    """Records that count as finished, of the configs of these cells."""
    stored = store.records(experiment, {cell.config_hash for cell in cells})
    return [
        record
        for record in stored
        if record.finished and (sources is None or record.source == sources[experiment])
    ]


def _tell(
    sweep: Sweep,
    store: Store,
    trials: Sequence[Cell],
    planner: Adaptive | None,
    todo: Sequence[Cell],
    calibrated: Listen,
) -> None:
    """Say what the rest will cost, if any cell of the calibration came to an end."""
    known = _known(store, sweep.experiment, trials, None)
    if not known:
        return
    model = CostModel(sweep.axes, known)
    done = {record.key for record in known}
    counts: Mapping[str, int] = Counter(cell.config_hash for cell in todo if cell.key not in done)
    if planner:
        open_ = {key for key, decision in planner.decisions.items() if decision.side == "open"}
        counts = {key: count for key, count in counts.items() if key in open_}
    configs = {cell.config_hash: cell.config_json for cell in sweep.firsts if cell.config_hash in counts}
    if configs:
        calibrated(model.estimate(configs, counts), model)
