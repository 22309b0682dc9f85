"""Commands on the store: ls, rm, export, verify, repair."""

import sys
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import Json, Status, StorePath
from karat.cli.output import print_json, print_pairs, print_table
from karat.cli.session import open_store

app = typer.Typer(help="Look into the store of finished cells.", no_args_is_help=False)

Name = Annotated[str | None, typer.Argument(help="Only this experiment.")]
Format = Literal["csv", "jsonl", "parquet"]
_SHOWN = 20


@app.command("ls")
def ls(store: StorePath = None, json: Json = False) -> None:
    """List what the store holds of each experiment."""
    with open_store(store, read_only=True) as opened:
        summaries = opened.summary()
    if json:
        print_json({"store": str(opened.path), "experiments": [vars(row) for row in summaries]})
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
        for row in summaries
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
    """Remove records, so that the next run computes them again.\f

    Args:
        experiment: only this one.
        status: only cells that ended so.
        everything: remove every record.
        store: the store's file.
        json: print strict JSON.
    """
    if experiment is None and status is None and not everything:
        raise Failure("name an experiment, a --status, or say --all.", BAD_INPUT)
    with open_store(store, read_only=True) as opened:
        require_experiment(experiment, [row.experiment for row in opened.summary()])
    with open_store(store) as opened:
        count = opened.remove(experiment, status)
    if json:
        print_json({"removed": count})
    else:
        print_pairs([("removed", f"{count} records")])


@app.command("export")
def export(
    experiment: Name = None,
    status: Status = None,
    kind: Annotated[
        Format | None, typer.Option("--format", help="Default as the file's name says, or csv.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File; default standard output.")] = None,
    store: StorePath = None,
) -> None:
    """Write records as CSV, JSON lines or Parquet.\f

    Args:
        experiment: only this one.
        status: only cells that ended so.
        kind: format of the file.
        out: file.
        store: the store's file.
    """
    from karat.lab import write_csv, write_jsonl, write_parquet

    writers = {"csv": write_csv, "jsonl": write_jsonl}
    if kind is None:
        ending = "csv" if out is None else out.suffix.removeprefix(".").lower()
        if ending not in get_args(Format):
            raise Failure(f"`{out}` does not end in .csv, .jsonl or .parquet: say `--format`.", BAD_INPUT)
        kind = cast(Format, ending)
    if kind == "parquet" and out is None:
        raise Failure("`--format parquet` needs a file: --out records.parquet.", BAD_INPUT)
    with open_store(store, read_only=True) as opened:
        require_experiment(experiment, [row.experiment for row in opened.summary()])
        records = opened.records(experiment, status=status)
    if out is None:
        writers[kind](records, sys.stdout)
    elif kind == "parquet":
        with bad_input():
            write_parquet(records, out)
    else:
        with bad_input(), out.open("w", encoding="utf-8", newline="") as stream:
            writers[kind](records, stream)
    if opened.damaged:
        raise Failure(f"damaged records missing from what was written: {len(opened.damaged)}.")


@app.command("verify")
def verify(store: StorePath = None, json: Json = False) -> None:
    """Check the file and every record; exit code 1 if anything is wrong."""
    from karat.lab.store import default_path
    from karat.lab.store import verify as find_faults

    with bad_input():
        health = find_faults(store or default_path())
    if json:
        print_json(vars(health) | {"problems": list(health.problems)})
    else:
        sound = "sound" if not health.problems else f"{len(health.problems)} problems"
        pairs = [("schema", str(health.schema)), ("records", str(health.records)), ("store", sound)]
        print_pairs([*pairs, *(("problem", text) for text in health.problems[:_SHOWN])])
    if health.problems:
        raise Failure(f"the store is not sound: {health.problems[0]} `karat store repair` saves what it can.")


@app.command("repair")
def repair(store: StorePath = None, json: Json = False) -> None:
    """Save the readable records of a damaged store into a new one; the damaged file is kept beside it."""
    from karat.lab.store import default_path, is_sound
    from karat.lab.store import repair as save_records

    path = store or default_path()
    if not path.is_file():
        raise Failure(f"{path}: there is no store here.", BAD_INPUT)
    if is_sound(path):
        if json:
            print_json({"records": 0, "left": {}, "backup": None})
        else:
            print_pairs([("store", "sound, there is nothing to repair")])
        return
    salvage = save_records(path)
    if json:
        print_json(vars(salvage) | {"backup": str(salvage.backup)})
        return
    pairs = [("saved", f"{salvage.records} records")]
    if salvage.left:
        name, reason = next(iter(salvage.left.items()))
        pairs.append(("left out", f"{len(salvage.left)} damaged records, the first: {name}: {reason}"))
    print_pairs([*pairs, ("damaged file", str(salvage.backup))])


def require_experiment(name: str | None, stored: list[str]) -> None:
    """Refuse an experiment the store does not hold."""
    if name is not None and name not in stored:
        listed = ", ".join(stored) or "nothing"
        raise Failure(f"the store holds no records of `{name}`; it holds {listed}.", BAD_INPUT)
