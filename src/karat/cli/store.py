"""Commands on the store: ls, rm, export."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import Json, StorePath
from karat.cli.output import print_json, print_pairs, print_table
from karat.cli.session import open_store

app = typer.Typer(help="Look into the store of finished cells.", no_args_is_help=False)

Name = Annotated[str | None, typer.Argument(help="Only this experiment.")]
Status = Annotated[str | None, typer.Option(help="Only done, diverged or failed cells.")]


@app.command("ls")
def ls(store: StorePath = None, json: Json = False) -> None:
    """List what the store holds of each experiment."""
    with open_store(store, read_only=True) as place:
        found = place.summary()
    if json:
        print_json({"store": str(place.path), "experiments": [vars(row) for row in found]})
        return
    rows = [
        [
            row.experiment,
            str(row.done),
            str(row.diverged),
            str(row.failed),
            f"{row.cpu_seconds:.1f}",
            row.last_saved,
        ]
        for row in found
    ]
    print_table(["experiment", "done", "diverged", "failed", "cpu s", "last saved"], rows)


@app.command("rm")
def rm(
    experiment: Name = None,
    status: Status = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove every record.")] = False,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Remove records, so that the next run computes them again."""
    require_status(status)
    if experiment is None and status is None and not everything:
        raise Failure("name an experiment, a --status, or say --all.", BAD_INPUT)
    with open_store(store, read_only=True) as place:
        require_experiment(experiment, [row.experiment for row in place.summary()])
    with open_store(store) as place:
        count = place.remove(experiment, status)
    if json:
        print_json({"removed": count})
    else:
        print_pairs([("removed", f"{count} records")])


@app.command("export")
def export(
    experiment: Name = None,
    status: Status = None,
    kind: Annotated[str, typer.Option("--format", help="csv or jsonl.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File; default standard output.")] = None,
    store: StorePath = None,
) -> None:
    """Write records as CSV or JSON lines."""
    from karat.lab import write_csv, write_jsonl

    writers = {"csv": write_csv, "jsonl": write_jsonl}
    require_status(status)
    if kind not in writers:
        raise Failure(f"`--format` must be csv or jsonl, got {kind!r}.", BAD_INPUT)
    with open_store(store, read_only=True) as place:
        require_experiment(experiment, [row.experiment for row in place.summary()])
        records = place.records(experiment, status=status)
    if out is None:
        writers[kind](records, sys.stdout)
        return
    with bad_input(), out.open("w", encoding="utf-8", newline="") as stream:
        writers[kind](records, stream)


def require_status(status: str | None) -> None:
    """Refuse an unknown status."""
    from karat.experiments.record import STATUSES

    if status is not None and status not in STATUSES:
        raise Failure(f"`--status` must be one of {', '.join(STATUSES)}, got {status!r}.", BAD_INPUT)


def require_experiment(name: str | None, stored: list[str]) -> None:
    """Refuse an experiment the store does not hold."""
    if name is not None and name not in stored:
        listed = ", ".join(stored) or "nothing"
        raise Failure(f"the store holds no records of `{name}`; it holds {listed}.", BAD_INPUT)
