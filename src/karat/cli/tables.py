"""The command table: measured numbers beside printed ones, as CSV or Markdown."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from karat.cli.errors import Failure, bad_input
from karat.cli.options import ExperimentName, ShownScale, StorePath
from karat.cli.session import experiment_named, open_store

TableFormat = Annotated[
    Literal["md", "csv"], typer.Option("--format", help="Markdown, or CSV with numbers in full.")
]


def table(
    experiment: ExperimentName,
    kind: Annotated[
        Literal["md", "csv"], typer.Option("--format", help="Markdown, or numbers in full.")
    ] = "md",
    scale: ShownScale = None,
    out: Annotated[Path | None, typer.Option(help="File; default standard output.")] = None,
    store: StorePath = None,
) -> None:
    """Write the table of an experiment from what the store holds: mean and interval over seeds.\f

    Args:
        experiment: its name.
        kind: format of the file.
        scale: show this one.
        out: file.
        store: the store's file.
    """
    from karat.report.collect import collect
    from karat.report.summary_table import table_of
    from karat.study.tables import FORMATS

    question = experiment_named(experiment)
    with bad_input():
        if scale is not None:
            question.preset(scale)
    with open_store(store, read_only=True) as opened:
        (held,) = collect(opened, scale, {}, {question.name: question}, others=False).experiments
    records = [record for record in held.records if record.status == "done"]
    if not records:
        hint = f"karat run {experiment}" + (f" --scale {scale}" if scale else "")
        raise Failure(f"the store holds no finished cells of `{experiment}` here; run `{hint}` first.")
    text = FORMATS[kind](table_of(question.name)(records))
    if out is None:
        print(text, end="")
        return
    with bad_input():
        out.write_text(text, encoding="utf-8")
