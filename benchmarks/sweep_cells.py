"""Cells for the benchmark of sweeps: they wait, compute or do nothing; workers import them by name."""

import time
from dataclasses import dataclass
from typing import Literal

import torch

from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    kind: Literal["nothing", "wait", "compute"] = "nothing"
    seconds: float = 0.0
    x: int = 0
    y: int = 0


@dataclass(frozen=True, kw_only=True)
class Result:
    value: float
    error: float


def run(config: Config, generator: torch.Generator) -> Result:
    if config.kind == "wait":
        time.sleep(config.seconds)
    if config.kind == "compute":
        A = torch.randn(400, 400, generator=generator)
        start = time.thread_time()
        while time.thread_time() - start < config.seconds:
            A = A @ A
            A = A / A.norm()
    return Result(value=float(config.x), error=0.25)


CELLS = Experiment(
    name="sweep_cells:CELLS",
    title="What does a sweep cost beside its cells?",
    paper="benign",
    presets={"tiny": Preset(config=Config(), seeds=1)},
    run=run,
)
