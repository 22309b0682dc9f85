"""Commands that run one thing: run, check."""

from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.duration import CellLimit
from karat.cli.errors import Failure, bad_input
from karat.cli.options import (
    Device,
    EngineName,
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
    from karat.lab.summary import Group
    from karat.study.claim import Claim


def run(
    experiment: Annotated[str, typer.Argument(help="Name, or package.module:ATTRIBUTE of your own.")],
    scale: Scale = "quick",
    seeds: Seeds = None,
    settings: Settings = None,
    device: Device = "cpu",
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Run one experiment; finished cells are stored, and the same command resumes."""
    from karat.lab import run_cells
    from karat.lab.summary import summarise
    from karat.study.experiment import cells

    chosen = engine_named(engine, scheduler, workers, cell_limit)
    question = experiment_named(experiment)
    with bad_input():
        wanted = cells(question, scale, seeds, overrides(question, settings, device))
    with open_store(store) as place:
        mention_other_source(place, wanted, fresh)
        with resumable(place, wanted):
            records = run_cells(wanted, place, engine=chosen, progress=bar(), fresh=fresh)
        groups = summarise(records)
        if json:
            head = {"experiment": question.name, "scale": scale, "store": str(place.path)}
            body = {"cells": list(map(_group_json, groups)), "records": [r.to_dict() for r in records]}
            print_json(head | body)
        else:
            _print_groups(groups)
            curves = sorted({name for r in records for name, v in r.values.items() if isinstance(v, list)})
            print_pairs([("curves", ", ".join(curves)), ("records", f"{len(records)} in {place.path}")])
    require_success(records)


def check(
    claim_id: Annotated[str, typer.Argument(metavar="ID", help="Such as benign.thm3.1.3.")],
    scale: Scale = "quick",
    seeds: Seeds = None,
    settings: Settings = None,
    device: Device = "cpu",
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Check one claim: predicted, measured with its interval over seeds, and the verdict."""
    from karat import study as layer

    with bad_input():
        statement = layer.get_statement(claim_id)
    from karat.api import check_cells  # after a wrong name was refused: behind it stands torch
    from karat.lab import run_cells

    chosen = engine_named(engine, scheduler, workers, cell_limit)
    test = layer.CHECKS.get(claim_id)
    if test is None:
        raise Failure(f"`{claim_id}` is stated but cannot be run yet; `karat claims` shows what can.")
    question = experiment_named(test.name)
    with bad_input():
        wanted = check_cells(test, scale, seeds, overrides(question, settings, device))
    with open_store(store) as place, resumable(place, wanted):
        mention_other_source(place, wanted, fresh)
        records = run_cells(wanted, place, engine=chosen, progress=bar(), fresh=fresh)
    claim = layer.judge_claim(statement, test, records, scale)
    if json:
        print_json(layer.claim_json(claim))
    else:
        print_claim(claim, test.reading)
    require_success(records)


def print_claim(claim: "Claim", reading: str) -> None:
    """Print a judged claim with everything that qualifies its verdict."""
    print_pairs(
        [
            ("claim", claim.id),
            ("statement", claim.title),
            ("reported", number(claim.reported)),
            ("predicted", number(claim.predicted)),
            ("measured", with_interval(claim.measured, claim.interval)),
            ("verdict", claim.verdict or "not run"),
            ("unmet", "; ".join(claim.hypotheses_unmet)),
            ("caveat", claim.caveat),
            ("reading", reading),
            ("scale", f"{claim.scale}, {claim.seeds} seeds"),
        ]
    )


def _print_groups(groups: "list[Group]") -> None:
    settings = list(groups[0].varied) if groups else []
    rows = []
    for group in groups:
        place = [str(value) for value in group.varied.values()]
        for name, average in group.averages.items():
            rows.append([*place, name, with_interval(average.mean, average.interval), str(average.seeds)])
        for status in ("diverged", "failed"):
            if status in group.statuses:
                rows.append([*place, status, "", str(group.statuses[status])])
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
