"""What the commands that compute share: the store they open, the bar they show, Ctrl-C."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.cli.errors import INTERRUPTED, Failure, bad_input
from karat.cli.options import device_settings, parse_settings

if TYPE_CHECKING:
    from karat.experiments.experiment import Cell, Experiment
    from karat.experiments.record import Record
    from karat.lab import Progress, Store


@contextmanager
def open_store(path: Path | None, *, read_only: bool = False) -> Iterator["Store"]:
    """Open the named or the default store; one that cannot be opened is bad input."""
    from karat.lab import Store, default_path

    with bad_input():
        store = Store(path or default_path(), read_only=read_only)
    with store:
        yield store


@contextmanager
def resumable(store: "Store", cells: Sequence["Cell"]) -> Iterator[None]:
    """Say after Ctrl-C what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        total = len({cell.key for cell in cells})
        kept = total - len(store.missing(cells))
        message = (
            f"interrupted; {kept} of {total} cells are finished and kept in {store.path}, "
            "the same command resumes."
        )
        raise Failure(message, INTERRUPTED) from None


def experiment_named(name: str) -> "Experiment":
    """Find an experiment; one of the user's own code may lie in the working folder."""
    if ":" in name and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    from karat.experiments.experiment import find_experiment

    with bad_input():
        return find_experiment(name)


def overrides(experiment: "Experiment", settings: list[str] | None, device: str) -> dict[str, Any]:
    """Return what `--set` and `--device` ask for."""
    from karat.experiments.config import hints

    known = list(hints(next(iter(experiment.presets.values())).config))
    return device_settings(device, experiment.name, known) | parse_settings(settings)


def bar() -> "Progress":
    """Return the progress shown on standard error."""
    from karat.lab import RichProgress

    return RichProgress()


def require_success(records: Sequence["Record"]) -> None:
    """End with exit code 1 if a cell failed; divergence is a result, failing is not."""
    failed = [record for record in records if record.status == "failed"]
    if failed:
        first = failed[0]
        where = f"{first.experiment}, seed {first.seed}"
        raise Failure(f"{len(failed)} of {len(records)} cells failed, the first ({where}): {first.error}")
