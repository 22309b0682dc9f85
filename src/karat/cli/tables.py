"""The command table: measured numbers beside printed ones, as CSV or Markdown."""

from pathlib import Path
from typing import Annotated

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import StorePath
from karat.cli.session import experiment_named, open_store


def table(
    experiment: Annotated[str, typer.Argument(metavar="NAME", help="Such as features.tab1.")],
    kind: Annotated[str, typer.Option("--format", help="csv or md.")] = "md",
    scale: Annotated[str | None, typer.Option(help="Scale shown; default the largest complete one.")] = None,
    out: Annotated[Path | None, typer.Option(help="File; default standard output.")] = None,
    store: StorePath = None,
) -> None:
    """Write the table of an experiment from what the store holds: mean and interval over seeds."""
    from karat.report.collect import collect
    from karat.report.summary_table import table_of
    from karat.study.tables import FORMATS

    if kind not in FORMATS:
        raise Failure(f"`--format` must be {' or '.join(FORMATS)}, got {kind!r}.", BAD_INPUT)
    found = experiment_named(experiment)
    with bad_input():
        if scale is not None:
            found.preset(scale)
    with open_store(store, read_only=True) as place:
        runs = {run.name: run for run in collect(place, scale, {}, {found.name: found}).runs}
    records = [record for record in runs[found.name].records if record.status == "done"]
    if not records:
        hint = f"karat run {experiment}" + (f" --scale {scale}" if scale else "")
        raise Failure(f"the store holds no finished cells of `{experiment}` here; run `{hint}` first.")
    text = FORMATS[kind](table_of(found.name)(records))
    if out is None:
        print(text, end="")
        return
    with bad_input():
        out.write_text(text, encoding="utf-8")
