"""Gradient descent with closed-form gradients: clean or adversarial, full batch or stochastic."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.checks import require_choice, require_integer, require_labels, require_number
from karat.core.divergence import Diverged
from karat.core.losses import Logistic, Loss
from karat.nets.net import Net
from karat.training.adversary import Adversary
from karat.training.projections import Projection
from karat.training.regularisers import Regulariser
from karat.training.schedules import Schedule
from karat.training.trajectory import Measurement, Snapshot, Trajectory

Observer = Callable[[int, Any], Measurement]


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """theta <- theta - lr(t) v, v <- momentum v + grad [mean loss at the adversary's points + regulariser].

    The gradient does not go through the adversary: perturbed points are constants of the step.

    Args:
        lr: learning-rate schedule; trainable: names of the parameters that move; loss: of the margin y f;
        reduction: mean or sum over the batch; regulariser, momentum, adversary, projection: optional parts;
        batch_size: None for full batch, else samples without replacement, reshuffled every epoch.
    """

    lr: Schedule
    trainable: tuple[str, ...] = ("W",)
    loss: Loss = field(default_factory=Logistic)
    reduction: Literal["mean", "sum"] = "mean"
    regulariser: Regulariser | None = None
    momentum: float = 0.0
    adversary: Adversary | None = None
    projection: Projection | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        require_choice(self.reduction, "reduction", "Trainer", ("mean", "sum"))
        require_number(self.momentum, "momentum", "Trainer", minimum=0)
        if self.batch_size is not None:
            require_integer(self.batch_size, "batch_size", "Trainer", minimum=1)

    def step(self, state: Snapshot, x: Tensor, y: Tensor, *, generator: torch.Generator | None) -> Snapshot:
        """One update; raises Diverged when the margins are no longer finite."""
        net = state.net
        if self.adversary is not None:
            x = self.adversary.perturb(net, x, y, state.step, generator=generator)
        margin = y * net(x)
        if not bool(torch.isfinite(margin).all()):
            raise Diverged(state.step, "the training margins are not finite")
        residual = self.loss.derivative(margin) * y
        gradient = net.weight_gradient(x, residual / len(x) if self.reduction == "mean" else residual)
        if self.regulariser is not None:
            for name, term in self.regulariser.gradient(net).items():
                gradient[name] = gradient[name] + term
        parameters, velocity, moved = net.parameters(), {}, {}
        for name in self.trainable:
            move = gradient[name]
            if self.momentum:
                move = self.momentum * state.velocity[name] + move if state.velocity else move
                velocity[name] = move
            moved[name] = parameters[name] - self.lr(state.step) * move
        net = net.replace(**moved)
        if self.projection is not None:
            net = self.projection(net)
        return Snapshot(state.step + 1, net, velocity, state.order, None)

    def run(
        self,
        net: Net,
        x: Tensor,
        y: Tensor,
        *,
        steps: int,
        generator: torch.Generator | None = None,
        observe: Observer | None = None,
        observe_at: Collection[int] = (),
        keep: Collection[int] = (),
    ) -> Trajectory:
        """Train for `steps` updates.

        Args:
            observe: called as observe(t, net_t) at the steps in `observe_at`, t = 0..steps; returns numbers.
            keep: steps whose state is stored, besides the first, so that `replay` starts near them.

        Returns:
            a Trajectory; divergence ends it early and is recorded there.
        """
        require_integer(steps, "steps", "Trainer", minimum=0)
        y = require_labels(y, len(x)).to(x.dtype)
        unknown = set(self.trainable) - set(net.parameters())
        if unknown:
            raise ValueError(
                f"`trainable` names {sorted(unknown)[0]!r}, but the net has {', '.join(net.parameters())}."
            )
        if self.batch_size is not None and generator is None:
            raise ValueError("stochastic training (`batch_size`) needs a `generator`.")
        first = Snapshot(0, net, {}, None, None if generator is None else generator.get_state())
        return self.resume(
            first, x, y, steps=steps, generator=generator, observe=observe, observe_at=observe_at, keep=keep
        )

    def resume(
        self,
        state: Snapshot,
        x: Tensor,
        y: Tensor,
        *,
        steps: int,
        generator: torch.Generator | None = None,
        observe: Observer | None = None,
        observe_at: Collection[int] = (),
        keep: Collection[int] = (),
    ) -> Trajectory:
        """Continue from a snapshot to step number `steps`."""
        watched, kept = frozenset(observe_at), frozenset(keep)
        snapshots, measurements = [state], []
        divergence: Diverged | None = None
        try:
            while True:
                if observe is not None and state.step in watched:
                    measurements.append((state.step, observe(state.step, state.net)))
                if state.step in kept and state.step > snapshots[0].step:
                    snapshots.append(state.with_generator(generator))
                if state.step >= steps:
                    break
                batch, state = self._batch(state, len(x), generator)
                xs, ys = (x, y) if batch is None else (x[batch], y[batch])
                state = self.step(state, xs, ys, generator=generator)
            _require_finite(state)
        except Diverged as stopped:
            divergence = stopped
        return Trajectory(self, x, y, tuple(snapshots), tuple(measurements), state, divergence)

    def _batch(
        self, state: Snapshot, n: int, generator: torch.Generator | None
    ) -> tuple[Tensor | None, Snapshot]:
        """Indices of this step's batch; a new permutation at the start of every epoch."""
        if self.batch_size is None or self.batch_size >= n:
            return None, state
        per_epoch = n // self.batch_size
        position = state.step % per_epoch
        if position == 0 or state.order is None:
            state = state.with_order(torch.randperm(n, generator=generator))
        assert state.order is not None
        return state.order[position * self.batch_size : (position + 1) * self.batch_size], state


def _require_finite(state: Snapshot) -> None:
    for name, tensor in state.net.parameters().items():
        if not bool(torch.isfinite(tensor).all()):
            raise Diverged(state.step, f"the parameter {name} is not finite")
