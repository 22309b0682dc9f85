"""What a training run leaves behind: measurements, stored states, and the means to replay it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from karat.core.divergence import Diverged
from karat.nets.net import Parameters

Measurement = dict[str, Any]


def curve_of(measurements: Iterable[tuple[int, Measurement]], name: str) -> tuple[list[int], list[Any]]:
    """The steps at which one quantity was measured, and its values.

    >>> curve_of([(0, {"loss": 2.0}), (5, {"error": 0.1}), (9, {"loss": 1.0})], "loss")
    ([0, 9], [2.0, 1.0])
    """
    rows = [(step, values[name]) for step, values in measurements if name in values]
    return [step for step, _ in rows], [value for _, value in rows]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The whole state of training before a step: net, velocity, sample order, random generator.

    Args:
        step: number of updates done.
        net: after these updates.
        velocity: momentum by parameter, empty before the first step.
        order: the epoch's permutation of the samples.
        generator_state: a generator's device and state.
    """

    step: int
    net: Any
    velocity: Parameters = field(default_factory=dict)
    order: Tensor | None = None
    generator_state: tuple[torch.device, Tensor] | None = None

    def with_generator(self, generator: torch.Generator | None) -> "Snapshot":
        """The same state, remembering where the generator stands."""
        state = None if generator is None else (generator.device, generator.get_state())
        return replace(self, generator_state=state)

    def with_order(self, order: Tensor) -> "Snapshot":
        """The same state with a new order of the samples."""
        return replace(self, order=order)

    def generator(self) -> torch.Generator | None:
        """A new generator that stands where the remembered one stood."""
        if self.generator_state is None:
            return None
        device, state = self.generator_state
        generator = torch.Generator(device)
        generator.set_state(state)
        return generator


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A finished (or diverged) run; `replay(t)` gives the net at any step, exactly.

    Args:
        trainer: that ran.
        x: (n, d) samples it was given.
        y: (n,) their labels.
        snapshots: stored states, the first one always.
        measurements: (step, values) of the observer.
        final: the last state.
        divergence: why the run ended early, or None.
    """

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
        return curve_of(self.measurements, name)

    def replay(self, step: int) -> Any:
        """The net before update number `step`, recomputed from the nearest stored state before it."""
        first, last = self.snapshots[0].step, self.final.step
        if not first <= step <= last:
            raise ValueError(f"`step` of `replay` must lie in {first}..{last}, got {step}.")
        start = max((s for s in self.snapshots if s.step <= step), key=lambda s: s.step)
        return self.trainer.resume(start, self.x, self.y, steps=step).net
