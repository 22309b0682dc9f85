"""Adversarial training in epochs: attack all samples, train on them, project, stop when stuck."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.core.checks import require_labels
from karat.core.divergence import Diverged
from karat.core.ranges import Count, Steps, checked
from karat.nets.net import Net
from karat.training.adversary import Adversary
from karat.training.projections import Projection
from karat.training.trainer import Trainer


@dataclass(frozen=True)
class EpochRun:
    """What an epoch trainer leaves behind.

    Args:
        net: after training.
        accuracy: the robust training accuracy before every epoch.
    """

    net: Any
    accuracy: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
@checked
class EpochTrainer:
    """Every epoch: perturb all samples against the present net, pass over them once in batches, project.

    Args:
        trainer: takes the batches; it has no adversary of its own, and may project after every step.
        adversary: perturbs all samples at the start of an epoch.
        projection: applied at the end of every epoch (None: not).
        max_epochs: last epoch.
        min_epochs: epochs before the stop rule is asked.

    Reading: training stops when the robust training accuracy, measured by the attack itself, is not above its
        best so far. It sits at 0 for the first epochs, so the rule is asked from `min_epochs` on. Every batch
        updates the same weights; the printed line that restarts each batch from the epoch's first weights
        would throw all batches but the last away.

    Ref: lazy, Alg 1
    """

    trainer: Trainer
    adversary: Adversary
    projection: Projection | None = None
    max_epochs: Count = 12
    min_epochs: Steps = 6

    def __post_init__(self) -> None:
        if self.trainer.adversary is not None:
            raise ValueError(
                "`trainer` of `EpochTrainer` must have no adversary: samples are attacked once an epoch."
            )

    @torch.no_grad()
    def run(
        self,
        net: Net,
        x: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator,
        observe: Callable[[int, Any], None] | None = None,
    ) -> EpochRun:
        """Train until the last epoch, or until the robust training accuracy grows no more.

        Args:
            net: where training begins.
            x: (n, d) samples.
            y: (n,) labels.
            generator: of batches and attacks.
            observe: called as observe(epoch, net) after every epoch.
        """
        y = require_labels(y, len(x)).to(x)
        steps = self.trainer.steps_per_epoch(len(x))
        accuracy: list[float] = []
        for epoch in range(self.max_epochs):
            attacked = self.adversary.perturb(net, x, y, epoch, generator=generator)
            margin = y * net(attacked)
            if not bool(torch.isfinite(margin).all()):
                raise Diverged(epoch * steps, "the training margins are not finite")
            accuracy.append(float((margin > 0).double().mean()))
            if epoch >= max(1, self.min_epochs) and accuracy[-1] <= max(accuracy[:-1]):
                break
            net = self.trainer.run(net, attacked, y, steps=steps, generator=generator, observe_at=()).net
            if self.projection is not None:
                net = self.projection(net)
            if observe is not None:
                observe(epoch, net)
        return EpochRun(net, tuple(accuracy))
