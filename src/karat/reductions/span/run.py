"""What an exact run shows while it goes and leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from karat.attacks.inner_products.gram import GramNet
from karat.core.divergence import Diverged
from karat.nets.two_layer import TwoLayer
from karat.training.trajectory import Measurement, curve_of


@dataclass(frozen=True)
class ExactState:
    """What an observer sees before update number `step`: views of live buffers, to be read and not kept.

    Args:
        step: number of updates done.
        gram: the net up to rotation.
        P: (n, m) products <w_s, x_i> of the samples.
        tracked: (k, m) products of the tracked points.
        small: the net with its first W and present a, b, c.
        W: (m, r) present weights, or None if they are not kept.
    """

    step: int
    gram: GramNet
    P: Tensor
    tracked: Tensor
    small: TwoLayer
    W: Tensor | None

    @property
    def net(self) -> TwoLayer:
        """The net in the coordinates training was given."""
        if self.W is None:
            raise ValueError("the weights were not kept: pass `weights=True`, or use `gram` and `tracked`.")
        return self.small.replace(W=self.W)


Observer = Callable[[int, ExactState], Measurement]


@dataclass(frozen=True)
class ExactRun:
    """A finished (or diverged) run.

    Args:
        losses: the attacked loss before every update.
        measurements: what was observed, with its step.
        final: the last state.
        divergence: what ended the run early, if anything did.
    """

    losses: tuple[float, ...]
    measurements: tuple[tuple[int, Measurement], ...]
    final: ExactState
    divergence: Diverged | None

    @property
    def net(self) -> TwoLayer:
        """The last net, in the coordinates training was given; raises Diverged when training diverged."""
        if self.divergence is not None:
            raise self.divergence
        return self.final.net

    def curve(self, name: str) -> tuple[list[int], list[Any]]:
        """The recorded steps and the values of one measurement."""
        return curve_of(self.measurements, name)
