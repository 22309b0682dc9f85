"""What the commands that compute share: how options are read, the store, the bar, what is kept at the end."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.inputs import allow_own_code
from karat.cli.options import EngineName
from karat.cli.signals import check, ending

if TYPE_CHECKING:
    from karat.lab import Engine, RichProgress, Store
    from karat.study.experiment import Cell, Experiment
    from karat.study.record import Record

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@contextmanager
def open_store(path: Path | None, *, read_only: bool = False) -> Iterator["Store"]:
    """Open the named or the default store; one that cannot be opened is bad input.

    Damaged records are left out of what is read; one line says so.
    """
    from karat.lab import Store, default_path

    with bad_input():
        store = Store(path or default_path(), read_only=read_only)
    with store:
        yield store
    if store.damaged:
        count, (name, reason) = len(store.damaged), next(iter(store.damaged.items()))
        print(
            f"karat: {store.path}: damaged records left out: {count}, the first: {name}: {reason} "
            "`karat store verify` names them; running their cells again replaces them.",
            file=sys.stderr,
        )


@contextmanager
def resumable(store: "Store", cells: Sequence["Cell"]) -> Iterator[None]:
    """Say after Ctrl-C, SIGTERM or SIGHUP what is kept and how to go on."""
    try:
        check()
        yield
    except KeyboardInterrupt:
        total = len({cell.key for cell in cells})
        finished = total - len(store.missing(cells))
        word, code = ending()
        message = (
            f"{word}; {finished} of {total} cells are finished and kept in {store.path}, "
            "the same command resumes."
        )
        raise Failure(message, code) from None


def experiment_named(name: str) -> "Experiment":
    """Find an experiment; one of the user's own code may lie in the working folder."""
    if ":" in name:
        allow_own_code()
    from karat.study.registry import find_experiment

    with bad_input():
        return find_experiment(name)


def overrides(experiment: "Experiment", settings: list[str] | None, device: str) -> dict[str, Any]:
    """Return what `--set` and `--device` ask for.

    Args:
        experiment: whose settings they are.
        settings: texts KEY=VALUE.
        device: cpu or cuda.
    """
    from karat.study.config import hints

    known = list(hints(next(iter(experiment.presets.values())).config))
    return _device_settings(device, experiment.name, known) | parse_settings(settings)


def parse_settings(settings: list[str] | None) -> dict[str, str]:
    """Split "key=value" texts; the last of equal keys counts."""
    values = {}
    for text in settings or []:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise Failure(f"`--set` must be KEY=VALUE, such as d=4000, got {text!r}.", BAD_INPUT)
        values[key.strip()] = value.strip()
    return values


def _device_settings(device: str, experiment: str, known: list[str]) -> dict[str, str]:
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


def bar() -> "RichProgress":
    """Return the progress shown on standard error."""
    from karat.lab import RichProgress

    return RichProgress()


def engine_named(
    name: EngineName, scheduler: str | None, workers: int | None, cell_limit: str | None = None
) -> "Engine":
    """Return the engine that `--engine`, `--scheduler`, `--workers` and `--cell-limit` ask for.

    Args:
        name: of `--engine`.
        scheduler: of `--scheduler`.
        workers: of `--workers`.
        cell_limit: of `--cell-limit`.
    """
    from karat.lab import Dask
    from karat.lab.pool import Local
    from karat.lab.runner import cores, make_local

    _require_engine(name, scheduler, workers)
    limit = parse_duration(cell_limit, "--cell-limit")
    if name == "local":
        engine = make_local(workers)
        if isinstance(engine, Local):
            return replace(engine, limit=limit, say=_say)
        if limit is not None:
            raise Failure("`--cell-limit` needs processes it can end; leave out --workers 0.", BAD_INPUT)
        return engine
    with bad_input():
        return Dask(scheduler, workers or cores(), limit, _say)


def _require_engine(engine: EngineName, scheduler: str | None, workers: int | None) -> None:
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


def parse_duration(text: str | None, option: str) -> float | None:
    """Return the seconds of a time such as 90, 90s, 10m or 2h; None for None."""
    if text is None:
        return None
    parts = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([smhd]?)\s*", text)
    seconds = float(parts[1]) * _SECONDS[parts[2]] if parts else 0.0
    if seconds <= 0:
        raise Failure(f"`{option}` must be a time such as 90s, 10m or 2h, got {text!r}.", BAD_INPUT)
    return seconds


def _say(text: str) -> None:
    print(f"karat: {text}", file=sys.stderr)


def mention_other_source(store: "Store", cells: Sequence["Cell"], fresh: bool) -> None:
    """Say in one line if records are taken that other source code has computed.

    Args:
        store: whose records are taken.
        cells: that are wanted.
        fresh: whether such records are computed again anyway.
    """
    from karat.lab import present_sources

    count = 0 if fresh else store.stale(cells, present_sources(cells))
    if count:
        print(
            f"karat: {count} records were computed by other source code; `--fresh` recomputes.",
            file=sys.stderr,
        )


def require_success(records: Sequence["Record"], cells: int | None = None) -> None:
    """End with exit code 1 if a cell failed; divergence is a result, failing is not.

    Args:
        records: of all cells, or only of those that failed.
        cells: how many there were, if not as many as records.
    """
    failed = [record for record in records if record.status == "failed"]
    if failed:
        first, total = failed[0], len(records) if cells is None else cells
        where = f"{first.experiment}, seed {first.seed}"
        raise Failure(f"{len(failed)} of {total} cells failed, the first ({where}): {first.error}")
