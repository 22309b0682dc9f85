"""Experiments without work, for the tests of the lab and the command line; workers import them by name."""

import math
import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch

from karat.core.divergence import Diverged
from karat.core.ranges import Count, NonNegative, checked
from karat.study.experiment import Experiment, Preset
from karat.study.record import cell_generator
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
@checked
class Config:
    d: Count
    tau: NonNegative = 0.1
    mode: Literal["ok", "raise", "diverge", "die", "die once", "odd", "wild", "tensor", "vast"] = "ok"
    at: int = 2  # the d at which `mode` happens
    pause: float = 0.0
    log: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    mean: float | None = None
    positive: bool | None = None
    trace: float | None = None
    curve: list[float] | None = None
    threads: int | None = None
    infinite: Annotated[float | None, Undefined("in the mode odd")] = None
    unknown: Annotated[float | None, Undefined("in the mode odd")] = None
    zero: float | None = None
    loss: list[float] | None = None
    value: Any = None


def run(config: Config, generator: torch.Generator) -> Result:
    before = _log(config, f"{config.d} {_seed(generator)} {os.getpid()}")
    time.sleep(config.pause)
    if config.d == config.at:
        if config.mode == "raise":
            raise RuntimeError("no luck\nwith this one")
        if config.mode == "diverge":
            raise Diverged(7, "the loss is nan")
        if config.mode == "die" or (config.mode == "die once" and before.count(f"{config.d} ") == 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if config.mode == "odd":
            return Result(infinite=math.inf, unknown=math.nan, zero=-0.0)
        if config.mode == "wild":
            return Result(mean=1.5, loss=[0.5, math.inf])
        if config.mode == "tensor":
            return Result(value=torch.zeros(2))
        if config.mode == "vast":
            torch.empty(10**17)
    x = torch.randn(4000, config.d, generator=generator, dtype=torch.float32)
    gram = x.T @ x
    return Result(
        mean=float(x.mean()),
        positive=bool(x.mean() > 0),
        trace=float(gram.trace()),
        curve=gram[0].tolist(),
        threads=torch.get_num_threads(),
    )


def _seed(generator: torch.Generator) -> int:
    """The seed of the cell whose generator this is."""
    states = (cell_generator("karat_toys:TOY", seed).initial_seed() for seed in range(100))
    return next((seed for seed, state in enumerate(states) if state == generator.initial_seed()), -1)


def _log(config: Config, line: str) -> str:
    """Append a line; return what was there before."""
    if not config.log:
        return ""
    path = Path(config.log)
    before = path.read_text() if path.exists() else ""
    with path.open("a") as stream:
        stream.write(line + "\n")
    return before


TOY = Experiment(
    name="karat_toys:TOY",
    title="What is the mean of noise?",
    paper="benign",
    presets={
        "tiny": Preset(config=Config(d=1), grid={"d": (1, 2, 3)}, seeds=2),
        "quick": Preset(config=Config(d=1), grid={"d": (1, 2, 3)}, seeds=4),
    },
    run=run,
)

DEAR = replace(
    TOY,
    name="karat_toys:DEAR",
    presets={"tiny": Preset(config=Config(d=1), seeds=1, cell_seconds=100.0)},
)

LATE = replace(
    TOY,
    name="karat_toys:LATE",
    presets={"tiny": Preset(config=Config(d=1), seeds=1, cell_seconds=200.0)},
)
