"""Commands that run one thing: run, check."""

from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import (
    CellLimit,
    ClaimId,
    Device,
    EngineChoice,
    ExperimentName,
    Fresh,
    Json,
    Scale,
    Scheduler,
    Seeds,
    Settings,
    StorePath,
    Workers,
)
from karat.cli.output import print_json, print_pairs, print_table, with_interval
from karat.cli.session import (
    bar,
    engine_named,
    experiment_named,
    mention_other_source,
    open_store,
    overrides,
    require_success,
    resumable,
)
from karat.core.texts import number

if TYPE_CHECKING:
    from karat.lab.averages import Group
    from karat.study.claim import Claim, ControlOutcome
    from karat.study.hypothesis import Entry
    from karat.study.settling import Settling


def run(
    experiment: ExperimentName,
    scale: Scale = "quick",
    seeds: Seeds = None,
    settings: Settings = None,
    device: Device = "cpu",
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineChoice = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Run one experiment; finished cells are stored, and the same command resumes.\f

    Args:
        experiment: its name.
        scale: preset with everything that is not said.
        seeds: how many instead of the preset's.
        settings: texts KEY=VALUE.
        device: cpu or cuda.
        store: the store's file.
        workers: processes.
        engine: what computes.
        scheduler: address of a Dask scheduler.
        cell_limit: time after which a cell is stopped.
        fresh: compute again what other source code has computed.
        json: print strict JSON.
    """
    from karat.lab import run_cells
    from karat.lab.averages import average_seeds
    from karat.study.experiment import cells

    chosen = engine_named(engine, scheduler, workers, cell_limit)
    question = experiment_named(experiment)
    with bad_input():
        planned_cells = cells(question, scale, seeds, overrides(question, settings, device))
    with open_store(store) as opened:
        mention_other_source(opened, planned_cells, fresh)
        with resumable(opened, planned_cells):
            records = run_cells(planned_cells, opened, engine=chosen, progress=bar(), fresh=fresh)
        groups = average_seeds(records)
        if json:
            head = {"experiment": question.name, "scale": scale, "store": str(opened.path)}
            body = {"cells": list(map(_group_json, groups)), "records": [r.to_dict() for r in records]}
            print_json(head | body)
        else:
            _print_groups(groups)
            curves = sorted({name for r in records for name, v in r.values.items() if isinstance(v, list)})
            print_pairs([("curves", ", ".join(curves)), ("records", f"{len(records)} in {opened.path}")])
    require_success(records)


def check(
    claim_id: ClaimId,
    scale: Scale = "quick",
    seeds: Seeds = None,
    settings: Settings = None,
    device: Device = "cpu",
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineChoice = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    fresh: Fresh = False,
    controls: Annotated[
        bool, typer.Option("--controls", help="Run the controls alone: worlds in which it must not hold.")
    ] = False,
    json: Json = False,
) -> None:
    """Check one claim: predicted, measured with its interval over seeds, its controls, and the verdict.\f

    Args:
        claim_id: its id.
        controls: run the controls alone.
        scale: preset with everything that is not said.
        seeds: how many instead of the preset's.
        settings: texts KEY=VALUE.
        device: cpu or cuda.
        store: the store's file.
        workers: processes.
        engine: what computes.
        scheduler: address of a Dask scheduler.
        cell_limit: time after which a cell is stopped.
        fresh: compute again what other source code has computed.
        json: print strict JSON.
    """
    from karat import study

    with bad_input():
        statement = study.get_statement(claim_id)
    from karat.lab import run_cells
    from karat.study.plan import plan_claim  # after a wrong name was refused: behind it stands torch
    from karat.study.registry import broken_reason
    from karat.study.settling import settling

    chosen = engine_named(engine, scheduler, workers, cell_limit)
    claim_check = study.CHECKS.get(claim_id)
    if claim_check is None:
        only_stated = f"`{claim_id}` is stated but cannot be run yet; `karat claims` shows what can."
        raise Failure(broken_reason(claim_id) or only_stated, BAD_INPUT)
    question = experiment_named(claim_check.name)
    with bad_input():
        plan = plan_claim(claim_check, scale, seeds, overrides(question, settings, device))
    if controls and not plan.controls:
        raise Failure(f"`{claim_id}` has no controls.")
    planned_cells = [c for group in plan.controls.values() for c in group] if controls else plan.every
    with open_store(store) as opened, resumable(opened, planned_cells):
        mention_other_source(opened, planned_cells, fresh)
        records = run_cells(planned_cells, opened, engine=chosen, progress=bar(), fresh=fresh)
        stored = [record for cell in plan.every if (record := opened.get(cell)) is not None]
    own, of_controls = plan.select(stored)
    missing = len(plan.cells) - len(own)
    claim = study.judge_claim(
        statement, claim_check, own, scale, of_controls, added=plan.added, missing=missing
    )
    settled = settling(claim, claim_check, plan, stored, settings or ())
    if json:
        print_json(study.claim_json(claim) | {"settling": settled and vars(settled)})
    else:
        print_claim(claim, claim_check.reading, settled)
    require_success(records)
    if claim.error:
        raise Failure(f"{claim.id}: {claim.error}; this is a bug of the check, not a verdict.")


def print_claim(claim: "Claim", reading: str, settled: "Settling | None" = None) -> None:
    """Print a judged claim with everything that qualifies its verdict.

    Args:
        claim: as it was judged.
        reading: of its check.
        settled: what would settle an open verdict.
    """
    from karat.study.trace import condensed

    unit = f" ({claim.unit})" if claim.unit else ""
    decided = claim.verdict in ("holds", "fails") and claim.resolution
    pairs = [
        ("claim", claim.id),
        ("statement", claim.title),
        ("reported", number(claim.reported)),
        ("predicted", number(claim.predicted) and number(claim.predicted) + unit),
        ("measured", with_interval(claim.measured, claim.interval)),
        ("verdict", claim.verdict or ("error" if claim.error else "not run")),
        ("would settle", str(settled or "")),
        ("would see", f"a deviation of {number(claim.resolution)}{unit}" if decided else ""),
    ]
    pairs += [(entry.status, _ledger_line(entry)) for entry in claim.ledger]
    pairs += [("control", control_line(outcome)) for outcome in claim.controls]
    pairs += [("caveat", claim.caveat), ("reading", reading)]
    pairs += [("rule", step) for step in condensed(claim.trace)]
    pairs += [("images", ", ".join(claim.images)), ("scale", f"{claim.scale}, {claim.seeds} seeds")]
    print_pairs(pairs)


def _ledger_line(entry: "Entry") -> str:
    """A hypothesis at its worst setting, and at how many it is unmet."""
    of = f", at {entry.unmet} of {entry.settings} settings" if entry.unmet and entry.settings > 1 else ""
    return f"{entry.condition}{of}"


def control_line(outcome: "ControlOutcome") -> str:
    """Say what became of a control.

    Args:
        outcome: of a judged claim.
    """
    said = {True: "HOLDS AS WELL", False: "does not hold", None: "not run"}[outcome.holds]
    numbers = "" if outcome.measured is None else f", measured {number(outcome.measured)}"
    if numbers and outcome.predicted is not None:
        numbers += f" against {number(outcome.predicted)}"
    return f"{outcome.control.name}: {said}{numbers}"


def _print_groups(groups: "list[Group]") -> None:
    settings = list(groups[0].varied) if groups else []
    rows = []
    for group in groups:
        values = [str(value) for value in group.varied.values()]
        for name, average in group.averages.items():
            rows.append([*values, name, with_interval(average.mean, average.interval), str(average.seeds)])
        for status in ("diverged", "failed"):
            if status in group.statuses:
                rows.append([*values, status, "", str(group.statuses[status])])
    if rows:  # a result of lists alone has no value of which seeds have a mean
        print_table([*settings, "value", "mean [95 % interval]", "seeds"], rows)


def _group_json(group: "Group") -> dict[str, object]:
    values = {
        name: {
            "mean": average.mean,
            "interval": [average.interval.low, average.interval.high] if average.interval else None,
            "seeds": average.seeds,
        }
        for name, average in group.averages.items()
    }
    return {
        "config": group.config,
        "config_hash": group.config_hash,
        "statuses": group.statuses,
        "values": values,
    }
