"""karat from Python: run an experiment, check a claim, reproduce a paper."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from karat import study
from karat.lab import (
    Engine,
    Outcome,
    Progress,
    Store,
    Sweep,
    Target,
    default_path,
    iterate,
    present_sources,
    run_cells,
    run_sweep,
)
from karat.lab.runner import make_local
from karat.study.check import Check
from karat.study.claim import Claim, judge_claim
from karat.study.config import hints, require_setting
from karat.study.experiment import Cell, Part, cells
from karat.study.grid import read_axis
from karat.study.plan import plan_claim
from karat.study.record import Record
from karat.study.regime import Regime, find_regime
from karat.study.registry import broken_reason, find_experiment, get_statement


def run(
    experiment: str,
    *,
    scale: str = "quick",
    seeds: int | None = None,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    **overrides: Any,
) -> list[Record]:
    """Run an experiment and return its records, computing only the cells the store does not have.

    Args:
        experiment: name, or "package.module:ATTRIBUTE" of your own.
        scale: `tiny`, `quick` or `full`.
        seeds: instead of the preset's.
        store: file, by default KARAT_STORE or .karat/store.sqlite.
        workers: processes, one per core by default, 0 for this one.
        engine: what computes instead, such as `karat.lab.Dask("tcp://host:8786")`.
        fresh: compute again what other source code has computed.
        progress: listener.
        overrides: settings, such as `d=4000`.
    """
    wanted = cells(find_experiment(experiment), scale, seeds, overrides)
    chosen = engine or make_local(workers)
    with opened(store) as opened_store:
        return run_cells(wanted, opened_store, engine=chosen, fresh=fresh, progress=progress)


def sweep(
    experiment: str,
    grid: Mapping[str, Sequence[Any] | str] | None = None,
    *,
    scale: str = "quick",
    seeds: int | None = None,
    target: Target | None = None,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    **overrides: Any,
) -> Outcome:
    """Run a grid times seeds, computing only what the store does not have; records stay in the store.

    Args:
        experiment: name, or "package.module:ATTRIBUTE" of your own.
        grid: setting -> values, or text such as "1:10:10"; by default the axes of the preset.
        scale: preset with everything else.
        seeds: instead of the preset's, the most with a target.
        store: file, by default KARAT_STORE or .karat/store.sqlite.
        workers: processes, one per core by default, 0 for this one.
        engine: what computes instead, such as `karat.lab.Dask("tcp://host:8786")`.
        fresh: compute again what other source code has computed.
        progress: listener.
        overrides: settings, such as `d=4000`.
        target: spend seeds only until each config is known to lie above or below a level.
    """
    planned = plan_sweep(experiment, scale, seeds, grid, overrides, target)
    with opened(store) as opened_store:
        return run_sweep(planned, opened_store, engine or make_local(workers), progress=progress, fresh=fresh)


def plan_sweep(
    experiment: str,
    scale: str,
    seeds: int | None = None,
    grid: Mapping[str, Sequence[Any] | str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    target: Target | None = None,
) -> Sweep:
    """Return the sweep of a grid given as values or as text, see `sweep`.

    Args:
        experiment: name, or "package.module:ATTRIBUTE".
        scale: preset with everything else.
        seeds: instead of the preset's.
        grid: setting -> values or text.
        overrides: other settings.
        target: asks for adaptive seeds.
    """
    question = find_experiment(experiment)
    known = hints(question.preset(scale).config)
    axes: dict[str, Sequence[Any]] = {}
    for name, values in (grid or {}).items():
        require_setting(name, known, question.name)
        text = isinstance(values, str)
        axes[name] = read_axis(str(values), known[name], name, question.name) if text else values
    wanted = cells(question, scale, seeds, overrides, axes)
    most = 1 + max(cell.seed for cell in wanted)
    if target is not None and target.least > most:
        raise ValueError(f"no config can be decided: {target.least} seeds at least, {most} at most.")
    return Sweep(experiment=question.name, scale=scale, cells=wanted, target=target)


def check(
    claim_id: str,
    *,
    scale: str = "quick",
    seeds: int | None = None,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    controls: bool = True,
    **overrides: Any,
) -> Claim:
    """Check one claim: run its experiment and judge the statement; one that is only stated has no verdict.

    Args:
        claim_id: such as "benign.thm3.1.3".
        scale: `tiny`, `quick` or `full`.
        seeds: instead of the preset's.
        store: file, by default KARAT_STORE or .karat/store.sqlite.
        workers: processes, one per core by default, 0 for this one.
        engine: what computes instead, such as `karat.lab.Dask("tcp://host:8786")`.
        fresh: compute again what other source code has computed.
        progress: listener.
        controls: whether the controls run, too.
        overrides: settings, such as `d=4000`.
    """
    statement, test = get_statement(claim_id), study.CHECKS.get(claim_id)
    if test is None:
        return judge_claim(statement, None, [])
    planned = plan_claim(test, scale, seeds, overrides, controls=controls)
    chosen = engine or make_local(workers)
    with opened(store) as opened_store:
        records = run_cells(planned.every, opened_store, engine=chosen, fresh=fresh, progress=progress)
    main, of_controls = planned.select(records)
    missing = len(planned.cells) - len(main)
    return judge_claim(statement, test, main, scale, of_controls, added=planned.added, missing=missing)


def regime(claim_id: str, *, scale: str = "quick", budget: float = 600.0, **settings: Any) -> Regime:
    """Say which hypotheses of a theorem hold at a setting, and find the cheapest setting inside.

    Args:
        claim_id: such as "convergence.thm4.1".
        scale: preset around which the search begins.
        budget: CPU seconds that one seed may take.
        settings: what is fixed, such as `tol=0.2`; the search leaves it alone.
    """
    return find_regime(checked_claim(claim_id), scale, settings, budget=budget)


def checked_claim(claim_id: str) -> Check:
    """Return the check of a claim; one that is only stated is a ValueError.

    Args:
        claim_id: of the claim.
    """
    get_statement(claim_id)
    test = study.CHECKS.get(claim_id)
    if test is None:
        only_stated = f"`{claim_id}` is stated but has no check: its hypotheses are not written down yet."
        raise ValueError(broken_reason(claim_id) or only_stated)
    return test


def plan(
    papers: Sequence[str],
    scale: str,
    seeds: int | None = None,
    parts: tuple[Part, ...] = ("theory",),
    *,
    controls: bool = True,
) -> dict[str, list[Cell]]:
    """Return the cells behind the executable claims of the papers: experiment -> cells, cheap ones first.

    Args:
        papers: keys.
        scale: name of a preset.
        seeds: instead of the presets'.
        parts: which parts of karat count.
        controls: whether the controls run, too.
    """
    found: dict[str, dict[tuple[str, str, int], Cell]] = {}
    for test in _checks(papers, scale):
        if all(find_experiment(name).part in parts for name in test.names):
            for cell in plan_claim(test, scale, seeds, controls=controls).every:
                found.setdefault(cell.experiment, {})[cell.key] = cell
    cost = {
        name: len(group) * find_experiment(name).preset(scale).cell_seconds for name, group in found.items()
    }
    return {name: list(found[name].values()) for name in sorted(found, key=lambda name: (cost[name], name))}


def reproduce(
    planned: Mapping[str, Sequence[Cell]],
    papers: Sequence[str],
    scale: str,
    store: Store,
    *,
    seeds: int | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    after: Callable[[str], object] = lambda experiment: None,
) -> tuple[list[Claim], list[Record]]:
    """Run the planned cells as one sweep; return the judged claims of the papers, and the records.

    Args:
        planned: what `plan` returned.
        papers: their keys.
        scale: preset.
        store: where records are kept.
        seeds: instead of the presets', as they were planned.
        engine: what computes, processes of this machine by default.
        fresh: compute again what other source code has computed.
        progress: listener.
        after: called with the name of each experiment when its last cell is saved, while the workers go
            on with the next one.
    """
    every = [cell for group in planned.values() for cell in group]
    sources = present_sources(every) if fresh else None
    left = Counter(cell.experiment for cell in store.missing(every, sources))
    computed: dict[tuple[str, str, int], Record] = {}
    with closing(iterate(every, store, engine=engine, progress=progress, fresh=fresh)) as records:
        for new in records:
            computed[new.key] = new
            left[new.experiment] -= 1
            if left[new.experiment] == 0:
                after(new.experiment)
    found = {
        name: [record for cell in group if (record := computed.get(cell.key) or store.get(cell))]
        for name, group in planned.items()
    }
    judged = []
    for test in _checks(papers, scale):
        if all(name in found for name in test.names):
            held = [record for name in test.names for record in found[name]]
            cells_of = plan_claim(test, scale, seeds)
            main, of_controls = cells_of.select(held)
            statement = get_statement(test.claim_id)
            missing = len(cells_of.cells) - len(main)
            judged.append(
                judge_claim(statement, test, main, scale, of_controls, added=cells_of.added, missing=missing)
            )
    return judged, [record for group in found.values() for record in group]


@contextmanager
def opened(store: Store | str | Path | None) -> Iterator[Store]:
    """Yield the store itself, or one opened for the time being (None: the default one)."""
    if isinstance(store, Store):
        yield store
        return
    with Store(default_path() if store is None else store) as opened_store:
        yield opened_store


def _checks(papers: Sequence[str], scale: str) -> list[Check]:
    listed = [get_statement(test.claim_id) for test in study.CHECKS.values()]
    own = {statement.id for statement in listed if statement.paper in papers}
    return [test for test in study.CHECKS.values() if test.claim_id in own and scale in test.scales]
