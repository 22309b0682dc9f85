"""Commands about whole papers: reproduce, report."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.browse import paper_keys
from karat.cli.catalogue import remember_everything
from karat.cli.errors import Failure, bad_input
from karat.cli.inputs import require_folder
from karat.cli.options import (
    CellLimit,
    EngineChoice,
    Fresh,
    Json,
    Out,
    PaperKey,
    Part,
    PartName,
    Scale,
    Scheduler,
    Seeds,
    ShownScale,
    StorePath,
    Workers,
)
from karat.cli.output import print_json, print_pairs, print_table, with_interval
from karat.cli.session import (
    bar,
    engine_named,
    mention_other_source,
    open_store,
    require_success,
    resumable,
)
from karat.core.texts import number

if TYPE_CHECKING:
    from karat.lab import Engine, RichProgress, Store
    from karat.report.build import Drawn
    from karat.study.claim import Claim
    from karat.study.experiment import Cell
    from karat.study.experiment import Part as ExperimentPart

_PARTS: dict[PartName, tuple["ExperimentPart", ...]] = {
    "theory": ("theory",),
    "images": ("images",),
    "all": ("theory", "images"),
}


def reproduce(
    paper: PaperKey = None,
    part: Part = "theory",
    scale: Scale = "quick",
    seeds: Seeds = None,
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineChoice = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    fresh: Fresh = False,
    out: Out = Path("report"),
    json: Json = False,
) -> None:
    """Run everything behind the executable claims, cheap experiments first, and write the report.\f

    Args:
        paper: key of one paper; all by default.
        part: the papers' own data models, deep networks, or all.
        scale: preset with everything that is not said.
        seeds: how many instead of the preset's.
        store: the store's file.
        workers: processes.
        engine: what computes.
        scheduler: address of a Dask scheduler.
        cell_limit: time after which a cell is stopped.
        fresh: compute again what other source code has computed.
        out: folder of the report.
        json: print strict JSON.
    """
    from karat import api, study

    chosen = engine_named(engine, scheduler, workers, cell_limit)
    keys = paper_keys(paper)
    with bad_input():
        planned = api.plan(keys, scale, seeds, _PARTS[part])
    require_folder(out, "--out")
    if not planned:
        kind = "" if part == "all" else f" of part `{part}`"
        raise Failure(f"no claim{kind} of {', '.join(keys)} can be run at scale `{scale}`.")
    planned_cells = [cell for group in planned.values() for cell in group]
    with open_store(store) as opened:
        pages = _Pages(opened, out, scale)
        mention_other_source(opened, planned_cells, fresh)
        progress = _progress(planned, scale, opened, chosen, fresh)
        with resumable(opened, planned_cells):
            judged, records = api.reproduce(
                planned,
                keys,
                scale,
                opened,
                seeds=seeds,
                engine=chosen,
                progress=progress,
                fresh=fresh,
                after=lambda experiment: pages.refresh(),
            )
            page = pages.finish()
    if json:
        print_json({"claims": [study.claim_json(claim) for claim in judged], "report": str(page)})
    else:
        _print(judged, page, opened.path)
    remember_everything()
    require_success(records)


def _print(judged: "Sequence[Claim]", page: Path, store: Path) -> None:
    rows = [
        [
            claim.id,
            claim.verdict or "not run",
            number(claim.reported),
            number(claim.predicted),
            with_interval(claim.measured, claim.interval),
        ]
        for claim in judged
    ]
    print_table(["claim", "verdict", "reported", "predicted", "measured"], rows)
    print_pairs([("report", str(page)), ("records", str(store))])


class _Pages:
    """The report while cells still run: written anew at times, taking a twenty-fifth of them at most."""

    def __init__(self, store: "Store", out: Path, scale: str) -> None:
        self._store, self._out, self._scale = store, out, scale
        self._drawn: Drawn = {}
        self._page: Path | None = None
        self._due = 0.0

    def refresh(self) -> None:
        """Write the report if it is time; what is written already has become old."""
        self._page = self._write() if time.monotonic() >= self._due else None

    def finish(self) -> Path:
        """Return the first page of a report that shows everything."""
        return self._page or self._write()

    def _write(self) -> Path:
        from karat.report.build import build

        start = time.monotonic()
        page = build(self._store, self._out, self._scale, drawn=self._drawn)
        self._due = time.monotonic() + 24 * (time.monotonic() - start)
        return page


def _progress(
    planned: "Mapping[str, Sequence[Cell]]", scale: str, store: "Store", engine: "Engine", fresh: bool
) -> "RichProgress":
    """Say what the cells to come cost by the presets' own rough times; the time left counts by these."""
    price = {key: seconds for name, group in planned.items() for key, seconds in _prices(name, group, scale)}
    every = [cell for group in planned.values() for cell in group]
    missing = every if fresh else store.missing(every)
    seconds = sum(price[cell.key] for cell in missing)
    workers = getattr(engine, "workers", 1)
    progress = bar()
    if seconds:
        spans = [timedelta(seconds=max(1, round(s))) for s in (seconds, seconds / max(workers, 1))]
        print(
            f"karat: {len(missing)} cells to go: roughly {spans[0]} of CPU time, "
            f"{spans[1]} on {workers} workers.",
            file=sys.stderr,
        )
        progress.expect(lambda record: price[record.key], seconds)
    return progress


def _prices(name: str, group: "Sequence[Cell]", scale: str) -> "Iterator[tuple[tuple[str, str, int], float]]":
    """The rough time of each cell: the preset's, and less for a control whose settings ask for less work."""
    from karat.study.experiment import cells
    from karat.study.registry import find_experiment
    from karat.study.search import cost_of

    experiment = find_experiment(name)
    usual = experiment.preset(scale).cell_seconds
    own = {cell.config_hash: cell.config for cell in cells(experiment, scale, 1)}
    law = cost_of(experiment, list(own.values()), usual)
    for cell in group:
        yield cell.key, usual if cell.config_hash in own else min(usual, law(cell.config))


def report(
    store: StorePath = None, scale: ShownScale = None, out: Out = Path("report"), json: Json = False
) -> None:
    """Write the report of everything in the store, without running anything; also while a sweep runs.\f

    Args:
        store: the store's file.
        scale: show this one.
        out: folder of the report.
        json: print strict JSON.
    """
    from karat.report.build import build

    require_folder(out, "--out")
    with open_store(store, read_only=True) as opened:
        page = build(opened, out, scale)
    if json:
        print_json({"report": str(page)})
    else:
        print_pairs([("report", str(page))])
    remember_everything()
