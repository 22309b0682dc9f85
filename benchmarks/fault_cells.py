"""A sweep to be disturbed: cells that note when they begin, and a driver that names every record it saves.

    python fault_cells.py STORE LOG ENGINE

The benchmark of faults copies this file into a folder of its own, where it may be edited during a sweep.
ENGINE is "local" or the address of a Dask scheduler.
"""

import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from karat.study.experiment import Experiment, Preset

SHIFT = 0.0
"""Edited in the middle of a sweep: other code, other numbers."""


@dataclass(frozen=True, kw_only=True)
class Config:
    x: int = 0
    log: str = ""
    seconds: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Result:
    value: float
    curve: list[float]


def run(config: Config, generator: Any) -> Result:
    import torch

    note = f"{config.x} {generator.initial_seed()} {os.getpid()} {time.time()}\n"
    file = os.open(config.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(file, note.encode())
    os.close(file)
    time.sleep(config.seconds)
    noise = torch.randn(50, generator=generator, dtype=torch.float64)
    return Result(value=config.x + SHIFT + float(noise.sum()), curve=noise.tolist())


CELLS = Experiment(
    name="fault_cells:CELLS",
    title="Does a sweep survive what happens to it?",
    paper="benign",
    presets={"tiny": Preset(config=Config(), grid={"x": tuple(range(8))}, seeds=4)},
    run=run,
)


def drive(store: str, log: str, engine: str) -> int:
    """Compute what is missing; print the hash of the source, then "x seed" after each record is saved."""
    import fault_cells  # as the workers know it

    from karat.errors import SourceError
    from karat.lab import Dask, Local, Store, StoreError, WorkerError, iterate
    from karat.study.experiment import cells
    from karat.study.source import source_hash

    print(source_hash(fault_cells.CELLS), flush=True)
    wanted = cells(fault_cells.CELLS, "tiny", overrides={"log": log})
    chosen = Local(2) if engine == "local" else Dask(engine)
    try:
        with Store(store) as place:
            for record in iterate(wanted, place, engine=chosen):
                print(record.config["x"], record.seed, flush=True)
    except (StoreError, WorkerError, SourceError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(drive(*sys.argv[1:]))
