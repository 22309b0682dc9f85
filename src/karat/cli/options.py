"""The options several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from karat.cli.catalogue import experiment_facts
from karat.study.experiment import Scale as ScaleName
from karat.study.record import Status as StatusName

EngineName = Literal["local", "dask"]
PartName = Literal["theory", "images", "all"]


def _claim_ids() -> list[str]:
    """What the shell completes a claim's id to."""
    from karat.study.registry import STATEMENTS

    return [statement.id for statement in STATEMENTS]


def _paper_keys() -> list[str]:
    from karat.study.registry import PAPERS

    return list(PAPERS)


def _experiments() -> list[str]:
    return list(experiment_facts())


Scale = Annotated[ScaleName, typer.Option(help="Seconds, a minute, or the paper's own size.")]
Seeds = Annotated[int | None, typer.Option(help="Number of seeds instead of the preset's.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; repeatable.")
]
Device = Annotated[str, typer.Option(help="cpu or cuda.", autocompletion=lambda: ["cpu", "cuda"])]
Json = Annotated[bool, typer.Option("--json", help="Strict JSON on standard output, nothing else.")]
StorePath = Annotated[
    Path | None, typer.Option("--store", help="Store file; default KARAT_STORE or .karat/store.sqlite.")
]
Workers = Annotated[int | None, typer.Option(help="Processes; default one per core, 0 for none.")]
EngineChoice = Annotated[EngineName, typer.Option(help="Processes of this machine, or a Dask cluster.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler, tcp://HOST:PORT; default a cluster of its own."),
]
CellLimit = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Stop a cell after this time (90s, 10m, 2h); it counts as failed."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again what other source code has computed.")]
ShownScale = Annotated[
    ScaleName | None, typer.Option("--scale", help="Show this scale; default the largest complete one.")
]
Out = Annotated[Path, typer.Option(help="Folder of the report.")]
PaperKey = Annotated[
    str | None,
    typer.Option("--paper", help="Key of one paper; `karat papers` lists them.", autocompletion=_paper_keys),
]
Part = Annotated[PartName, typer.Option(help="The papers' own data models, deep networks (slower), or all.")]
Status = Annotated[StatusName | None, typer.Option(help="Only cells that ended so.")]
ClaimId = Annotated[
    str, typer.Argument(metavar="ID", help="Such as benign.thm3.1.3.", autocompletion=_claim_ids)
]
ExperimentName = Annotated[
    str,
    typer.Argument(help="Name, or package.module:ATTRIBUTE of your own.", autocompletion=_experiments),
]
