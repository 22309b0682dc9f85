"""Gradient descent with closed-form gradients: clean or adversarial, full batch or stochastic."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_labels, require_shape
from karat.core.divergence import Diverged
from karat.core.losses import Logistic, Loss
from karat.core.ranges import Count, Share, checked
from karat.nets.net import Net, parameter
from karat.training.adversary import Adversary
from karat.training.projections import Projection
from karat.training.regularisers import Regulariser
from karat.training.schedules import Schedule
from karat.training.trajectory import Measurement, Snapshot, Trajectory

Observer = Callable[[int, Any], Measurement]


@dataclass(frozen=True, kw_only=True)
@checked
class Trainer:
    r"""Gradient descent with momentum on the loss at the points that an adversary picks.

    .. math:: v \leftarrow \text{momentum}\, v + \nabla_\theta \Big[ \frac1n \sum_i
              \ell\big(y_i f_\theta(x_i + \delta_i)\big) + \text{regulariser}(\theta) \Big], \qquad
              \theta \leftarrow \theta - \eta_t\, v

    The gradient does not go through the adversary: perturbed points are constants of the step.

    Args:
        lr: learning-rate schedule, :math:`\eta_t`.
        trainable: names of the parameters that move.
        loss: of the margin y f.
        reduction: mean or sum over the batch.
        regulariser: added to the loss, None for none.
        momentum: share of the velocity that is kept.
        adversary: perturbs the samples of every step, None for clean training.
        projection: applied after every step, None for none.
        batch_size: None for full batch; else an epoch is floor(n / batch_size) batches without replacement,
            reshuffled every epoch.

    Reading: the n mod batch_size samples left over at the end of an epoch are skipped in it, as in lazy's
        algorithm: every step averages over equally many samples, and the next shuffle skips others.

    Ref: lazy, Alg 1; benign, Alg 1; convergence, Thm 4.1
    """

    lr: Schedule
    trainable: tuple[str, ...] = ("W",)
    loss: Loss = field(default_factory=Logistic)
    reduction: Literal["mean", "sum"] = "mean"
    regulariser: Regulariser | None = None
    momentum: Share = 0.0
    adversary: Adversary | None = None
    projection: Projection | None = None
    batch_size: Count | None = None

    def __post_init__(self) -> None:
        if not callable(self.lr):
            raise TypeError(f"`lr` of `Trainer` must be a schedule such as Constant(0.1), got {self.lr!r}.")

    def steps_per_epoch(self, n: int) -> int:
        """Steps that pass once through n samples."""
        return 1 if self.batch_size is None else max(1, n // self.batch_size)

    @torch.no_grad()
    def step(
        self, state: Snapshot, x: Tensor, y: Tensor, *, generator: torch.Generator | None = None
    ) -> Snapshot:
        """One update; raises Diverged when the margins are no longer finite.

        Args:
            state: before the update.
            x: (n, d) samples of this step.
            y: (n,) their labels.
            generator: of random attacks.
        """
        net = state.net
        if self.adversary is not None:
            x = self.adversary.perturb(net, x, y, state.step, generator=generator)
        f, pullback = net.value_and_pullback(x)
        margin = y * f
        if not bool(torch.isfinite(margin).all()):
            raise Diverged(state.step, "the training margins are not finite")
        residual = self.loss.derivative(margin) * y
        gradient = pullback(residual / len(x) if self.reduction == "mean" else residual)
        penalty = {} if self.regulariser is None else self.regulariser.gradient(net)
        parameters, lr, velocity, moved = net.parameters(), self.lr(state.step), {}, {}
        # The gradient's tensors are this step's own: changing them in place spares copies of wide layers.
        for name in self.trainable:
            move = gradient.pop(name)
            if name in penalty:
                move.add_(penalty[name])
            if self.momentum:
                if name in state.velocity:
                    move.add_(state.velocity[name], alpha=self.momentum)
                velocity[name], move = move, move.clone()
            moved[name] = move.mul_(-lr).add_(parameters[name])
        net = net.replace(**moved)
        if self.projection is not None:
            net = self.projection(net)
        return Snapshot(state.step + 1, net, velocity, state.order)

    def run(
        self,
        net: Net,
        x: Tensor,
        y: Tensor,
        *,
        steps: int,
        generator: torch.Generator | None = None,
        observe: Observer | None = None,
        observe_at: Collection[int] | None = None,
        keep: Collection[int] = (),
    ) -> Trajectory:
        """Train for `steps` updates.

        Args:
            net: where training begins.
            x: (n, d) samples.
            y: (n,) labels +-1.
            steps: updates.
            generator: for batches and random attacks.
            observe: called as observe(t, net_t) and returning numbers; it must not draw from `generator`.
            observe_at: the steps t = 0..steps at which it is called, by default all of them.
            keep: steps whose state is stored, besides the first, so that `replay` starts near them.

        Returns:
            a Trajectory; divergence ends it early and is recorded there.
        """
        return self.resume(
            Snapshot(0, net),
            x,
            y,
            steps=steps,
            generator=generator,
            observe=observe,
            observe_at=observe_at,
            keep=keep,
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
        observe_at: Collection[int] | None = None,
        keep: Collection[int] = (),
    ) -> Trajectory:
        """Continue from a snapshot to step number `steps`.

        Args:
            state: where training continues.
            x: (n, d) samples.
            y: (n,) labels +-1.
            steps: the number of the last step, counted from the start of the whole training.
            generator: for batches and random attacks; the snapshot's own when left out.
            observe: see `run`.
            observe_at: see `run`.
            keep: see `run`.
        """
        require_integer(steps, "steps", "Trainer", minimum=state.step)
        require_shape(x, "x", (None, state.net.d))
        y = require_labels(y, len(x)).to(x)
        for name in self.trainable:
            parameter(state.net, name, "trainable")
        generator = state.generator() if generator is None else generator
        if self.batch_size is not None and generator is None:
            raise ValueError("stochastic training (`batch_size`) needs a `generator`.")
        watched = range(steps + 1) if observe_at is None else frozenset(observe_at)
        stored_steps = frozenset(keep) - {state.step}
        snapshots, measurements = [state.with_generator(generator)], []
        divergence: Diverged | None = None
        try:
            while True:
                if observe is not None and state.step in watched:
                    measurements.append((state.step, _observed(observe, state, generator)))
                if state.step in stored_steps:
                    snapshots.append(state.with_generator(generator))
                if state.step == steps:
                    break
                batch, state = self._batch(state, len(x), generator)
                xs, ys = (x, y) if batch is None else (x[batch.to(x.device)], y[batch.to(x.device)])
                state = self.step(state, xs, ys, generator=generator)
            _require_finite(state)
        except Diverged as stopped:
            divergence = stopped
        final = state.with_generator(generator)
        return Trajectory(self, x, y, tuple(snapshots), tuple(measurements), final, divergence)

    def _batch(
        self, state: Snapshot, n: int, generator: torch.Generator | None
    ) -> tuple[Tensor | None, Snapshot]:
        """Indices of this step's batch; a new permutation at the start of every epoch."""
        if self.batch_size is None or self.batch_size >= n:
            return None, state
        assert generator is not None
        position = state.step % self.steps_per_epoch(n)
        if position == 0 or state.order is None or len(state.order) != n:
            state = state.with_order(torch.randperm(n, generator=generator, device=generator.device))
        assert state.order is not None
        return state.order[position * self.batch_size : (position + 1) * self.batch_size], state


def _observed(observe: Observer, state: Snapshot, generator: torch.Generator | None) -> Measurement:
    """The observer's numbers; it sees finite nets only and may not disturb the training's randomness."""
    _require_finite(state)
    before = None if generator is None else generator.get_state()
    values = observe(state.step, state.net)
    if generator is not None and before is not None and not torch.equal(before, generator.get_state()):
        raise ValueError("`observe` drew from the training's `generator`; give it one of its own.")
    return values


def _require_finite(state: Snapshot) -> None:
    for name, tensor in state.net.parameters().items():
        if not bool(torch.isfinite(tensor).all()):
            raise Diverged(state.step, f"the parameter {name} is not finite")
