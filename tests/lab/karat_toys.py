"""Experiments without work, for the tests of the lab and the command line; workers import them by name."""

import math
import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from karat.core.checks import require_integer, require_number
from karat.core.divergence import Diverged
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    d: int
    tau: float = 0.1
    mode: Literal["ok", "raise", "diverge", "die", "die once", "odd", "wild", "tensor"] = "ok"
    at: int = 2  # the d at which `mode` happens
    pause: float = 0.0
    log: str = ""

    def __post_init__(self) -> None:
        require_integer(self.d, "d", "Toy", minimum=1)
        require_number(self.tau, "tau", "Toy", minimum=0)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    before = _log(config, f"{config.d} {generator.initial_seed()} {os.getpid()}")
    time.sleep(config.pause)
    if config.d == config.at:
        if config.mode == "raise":
            raise RuntimeError("no luck\nwith this one")
        if config.mode == "diverge":
            raise Diverged(7, "the loss is nan")
        if config.mode == "die" or (config.mode == "die once" and before.count(f"{config.d} ") == 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if config.mode == "odd":
            return {"infinite": math.inf, "unknown": math.nan, "zero": -0.0}
        if config.mode == "wild":
            return {"mean": 1.5, "loss": [0.5, math.inf]}
        if config.mode == "tensor":
            return {"value": torch.zeros(2)}
    x = torch.randn(4000, config.d, generator=generator, dtype=torch.float32)
    gram = x.T @ x
    return {
        "mean": float(x.mean()),
        "positive": bool(x.mean() > 0),
        "trace": float(gram.trace()),
        "curve": gram[0].tolist(),
        "threads": torch.get_num_threads(),
    }


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
    undefined={"infinite": "in the mode odd", "unknown": "in the mode odd"},
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
