"""The options several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from karat.cli.catalogue import experiment_facts
from karat.cli.errors import BAD_INPUT, Failure
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


def parse_settings(settings: list[str] | None) -> dict[str, str]:
    """Split "key=value" texts; the last of equal keys counts."""
    values = {}
    for text in settings or []:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise Failure(f"`--set` must be KEY=VALUE, such as d=4000, got {text!r}.", BAD_INPUT)
        values[key.strip()] = value.strip()
    return values


def require_engine(engine: EngineName, scheduler: str | None, workers: int | None) -> None:
    """Refuse schedulers and numbers of processes that an engine cannot have.

    Args:
        engine: of `--engine`.
        scheduler: of `--scheduler`.
        workers: of `--workers`.
    """
    from karat.lab.runner import most_workers

    if workers is not None and workers < 0:
        raise Failure(f"`--workers` must be a whole number >= 0, got {workers}.", BAD_INPUT)
    if workers is not None and workers > most_workers():
        message = f"`--workers` must be at most {most_workers()} on this machine, got {workers}."
        raise Failure(message, BAD_INPUT)
    if scheduler is not None and engine != "dask":
        raise Failure("`--scheduler` needs --engine dask.", BAD_INPUT)
    if scheduler is not None and workers is not None:
        raise Failure("`--workers` cannot be chosen for an existing scheduler; leave it out.", BAD_INPUT)


def device_settings(device: str, experiment: str, known: list[str]) -> dict[str, str]:
    """Return the setting that puts an experiment on a device, after making sure the device is there.

    Args:
        device: of `--device`.
        experiment: its name.
        known: names of its settings.
    """
    kind = device.partition(":")[0]
    if kind not in {"cpu", "cuda"}:
        raise Failure(f"`--device` must be cpu or cuda, got {device!r}.", BAD_INPUT)
    if kind == "cpu":
        return {"device": "cpu"} if "device" in known else {}
    import torch

    if not torch.cuda.is_available():
        raise Failure("CUDA is not available on this machine; use --device cpu.", BAD_INPUT)
    if "device" not in known:
        raise Failure(f"`{experiment}` runs on the cpu only; use --device cpu.", BAD_INPUT)
    return {"device": device}
