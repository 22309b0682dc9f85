"""What a driver and its workers say to each other: cells and records as lines of JSON, and refusals."""

import json
from typing import Any

from karat.errors import SourceError, WorkerError
from karat.study.experiment import Cell
from karat.study.record import Record
from karat.study.registry import find_experiment
from karat.study.source import hash_of, source_hash, source_modules
from karat.version import __version__

READY = "ready"
"""First line of a worker, once it has loaded karat."""

BEGUN = "begun"
"""Line of a worker that has loaded what a cell needs and begins to compute it: from here its time counts."""

LOADING = 60.0
"""Seconds a worker may take to load what a cell needs, on top of a limit per cell."""


def request(cell: Cell) -> str:
    """Return the line that asks a worker for a cell, to be computed by the driver's own source code."""
    experiment = find_experiment(cell.experiment)
    order = {
        "experiment": cell.experiment,
        "config": cell.config_json,
        "seed": cell.seed,
        "version": __version__,
        "source": source_hash(experiment),
        "modules": sorted(source_modules(experiment)),
    }
    return json.dumps(order, allow_nan=False)


def objection(order: dict[str, Any]) -> str | None:
    """Return why this process must not compute what is asked: its karat or the experiment's files differ.

    Asked before the experiment is imported, whose files are therefore found by the names of its modules.
    """
    if order["version"] != __version__:
        return _other_version(__version__, order["version"])
    try:
        ours = hash_of(frozenset(order["modules"]))
    except SourceError as error:
        return str(error)
    return None if ours == order["source"] else _other_source(order["experiment"], ours, order["source"])


def refusal(reason: str) -> str:
    """Return the line of a worker that does not compute the cell."""
    return json.dumps({"refused": reason})


def read_answer(line: str, cell: Cell) -> Record:
    """Return the record in a worker's line; a refusal, or a record of other code, is a `WorkerError`."""
    answer = json.loads(line)
    if "refused" in answer:
        raise WorkerError(answer["refused"])
    record = Record.from_json(line)
    ours = source_hash(find_experiment(cell.experiment))
    # A worker of an older karat does not compare by itself.
    if record.version != __version__:
        raise WorkerError(_other_version(record.version, __version__))
    if record.source != ours:
        raise WorkerError(_other_source(cell.experiment, record.source, ours))
    return record


def _other_version(worker: str, driver: str) -> str:
    return f"a worker runs karat {worker}, the driver {driver}; give every machine the same version."


def _other_source(experiment: str, worker: str, driver: str) -> str:
    return (
        f"`{experiment}`: a worker reads source {worker}, the driver {driver}; the files were edited or are "
        "others on that machine. Finished cells are kept; start the command again, with the same files on "
        "every machine."
    )
