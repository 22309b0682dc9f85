"""What a training run leaves behind: measurements, stored states, and the means to replay it."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.core.divergence import Diverged
from karat.nets.net import Parameters

Measurement = dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """The whole state of training before a step: net, velocity, sample order, random generator."""

    step: int
    net: Any
    velocity: Parameters
    order: Tensor | None
    generator_state: Tensor | None

    def with_generator(self, generator: torch.Generator | None) -> "Snapshot":
        """The same state, remembering where the generator stands."""
        return replace(self, generator_state=None if generator is None else generator.get_state())

    def with_order(self, order: Tensor) -> "Snapshot":
        """The same state with a new order of the samples."""
        return replace(self, order=order)


@dataclass(frozen=True)
class Trajectory:
    """A finished (or diverged) run; `replay(t)` gives the net at any step, exactly."""

    trainer: Any
    x: Tensor
    y: Tensor
    snapshots: tuple[Snapshot, ...]
    measurements: tuple[tuple[int, Measurement], ...]
    final: Snapshot
    divergence: Diverged | None

    @property
    def net(self) -> Any:
        """The last net; raises Diverged when training diverged."""
        if self.divergence is not None:
            raise self.divergence
        return self.final.net

    def curve(self, name: str) -> tuple[list[int], list[Any]]:
        """The recorded steps and the values of one measurement."""
        rows = [(step, values[name]) for step, values in self.measurements if name in values]
        return [step for step, _ in rows], [value for _, value in rows]

    def replay(self, step: int) -> Any:
        """The net before update number `step`, recomputed from the nearest stored state before it."""
        if not 0 <= step <= self.final.step:
            raise ValueError(f"`step` of `replay` must lie in 0..{self.final.step}, got {step}.")
        start = max((s for s in self.snapshots if s.step <= step), key=lambda s: s.step)
        generator = None
        if start.generator_state is not None:
            generator = torch.Generator()
            generator.set_state(start.generator_state)
        return self.trainer.resume(start, self.x, self.y, steps=step, generator=generator).net
