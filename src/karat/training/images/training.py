"""Training of image networks: SGD with momentum and weight decay, clean or against an attacker."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.core.checks import require_choice
from karat.core.divergence import Diverged
from karat.core.ranges import Count, NonNegative, Positive, Share, Steps, checked
from karat.training.images.annealing import Milestones, WarmCosine
from karat.training.images.attackers import ImageAttacker
from karat.training.images.augmentation import AUGMENTATIONS
from karat.training.images.checkpoint import Checkpoint
from karat.training.schedules import Schedule

Observe = Callable[[int, nn.Module], Mapping[str, Any]]
Curve = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
@checked
class ImageTraining:
    r"""Mini-batch SGD on the cross entropy of attacked, augmented images.

    .. math:: v \leftarrow \text{momentum}\, v + (g + \text{weight decay} \cdot w), \qquad
              w \leftarrow w - \text{lr}_t\, v

    Args:
        epochs: passes over the images.
        lr: the largest learning rate.
        weight_decay: see above.
        momentum: see above.
        batch_size: images per update; the rest of an epoch that fills no batch is skipped.
        schedule: "cosine" rises and then falls to zero, "steps" divides by ten at the milestones.
        warmup: share of all steps in which the rate of "cosine" rises.
        milestones: epochs after which the rate of "steps" is divided by ten.
        attacker: None trains on clean images.
        attack_warmup: epochs over which its radius grows from zero.
        augment: one of `AUGMENTATIONS`.
        device: where the net is trained, "cpu" or "cuda".

    Reading: weight decay acts on all weights, norms and biases included, as in the paper's code. Parameters
        that ask for no gradient are left alone bit for bit; norms all of whose parameters are frozen keep
        their running statistics too. Random numbers are drawn on the CPU on every device.

    Ref: purification, Sec 8
    """

    epochs: Steps
    lr: Positive
    weight_decay: NonNegative
    momentum: Share = 0.9
    batch_size: Count = 128
    schedule: Literal["cosine", "steps"] = "cosine"
    warmup: Share = 0.1
    milestones: tuple[int, ...] = ()
    attacker: ImageAttacker | None = None
    attack_warmup: Steps = 0
    augment: str = "crop+flip"
    device: str = "cpu"

    def __post_init__(self) -> None:
        require_choice(self.augment, "augment", "ImageTraining", AUGMENTATIONS)

    def run(
        self,
        module: nn.Module,
        x: Tensor,
        labels: Tensor,
        *,
        generator: torch.Generator,
        observe: Observe | None = None,
        checkpoint: str | Path | None = None,
    ) -> Curve:
        """Train the module in place; it ends in evaluation mode on the device.

        Args:
            module: returns logits.
            x: (n, channels, height, width) with pixels in [0, 1].
            labels: (n,) class indices.
            generator: of batches, augmentation and attacks.
            observe: (epochs done, module) -> plain values, called in evaluation mode before the first and
                after every epoch; draw nothing from the training's generator in it.
            checkpoint: file that is written after every epoch and continued from if it exists; the result is
                bit for bit that of a training which was never interrupted.

        Returns:
            one row per epoch from 0: "epoch", "loss" (mean over its batches, None at 0), "lr" and what
            `observe` returned.
        """
        module.to(self.device)
        trained = [p for p in module.parameters() if p.requires_grad]
        if not trained:
            raise ValueError("`module` of `ImageTraining` has no parameter that asks for a gradient.")
        optimiser = torch.optim.SGD(
            trained, lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay, foreach=True
        )
        file = None if checkpoint is None else Checkpoint(Path(checkpoint), self._plan(module, x))
        done, curve = (0, []) if file is None else file.restore(module, optimiser, generator)
        if not curve:
            curve.append({"epoch": 0, "loss": None, "lr": 0.0, **_observed(observe, 0, module)})
        for epoch in range(done, self.epochs):
            loss, lr = self._epoch(module, optimiser, x, labels, epoch, generator)
            row = {"epoch": epoch + 1, "loss": loss, "lr": lr}
            curve.append(row | _observed(observe, epoch + 1, module))
            if file is not None:
                file.save(module, optimiser, generator, epoch + 1, curve)
        module.eval()
        return curve

    def rate(self, per_epoch: int) -> Schedule:
        """Learning rate of every step, for so many steps per epoch."""
        total = max(1, self.epochs * per_epoch)
        if self.schedule == "steps":
            at = tuple(epoch * per_epoch for epoch in self.milestones)
            return Milestones(self.lr, at)
        return WarmCosine(self.lr, total, round(self.warmup * total))

    def decay_exponent(self, n: int) -> float:
        r"""How often the decay divides idle weights by e on n images, about.

        .. math:: \text{weight decay} \cdot \sum_t \text{lr}_t \,/\, (1 - \text{momentum})

        Whether training forgets its first weights is a matter of this number, not of the epochs alone.
        """
        per_epoch = max(1, n // self.batch_size)
        rate = self.rate(per_epoch)
        total = sum(rate(step) for step in range(self.epochs * per_epoch))
        return self.weight_decay * total / max(1 - self.momentum, 1e-12)

    def _epoch(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        x: Tensor,
        labels: Tensor,
        epoch: int,
        generator: torch.Generator,
    ) -> tuple[float, float]:
        """Mean loss of an epoch's batches and its last learning rate."""
        training_mode(module)
        augment = AUGMENTATIONS[self.augment]
        batches = torch.randperm(len(x), generator=generator).split(self.batch_size)
        batches = batches[: max(1, len(x) // self.batch_size)]
        rate, ramp = self.rate(len(batches)), self.attack_warmup * len(batches)
        losses = []
        for index, batch in enumerate(batches):
            step = epoch * len(batches) + index
            images, truth = x[batch].to(self.device), labels[batch].to(self.device)
            if augment is not None:
                images = augment(images, generator=generator)
            if self.attacker is not None:
                share = min(1.0, step / ramp) if ramp else 1.0
                images, truth = self.attacker.copies(module, images, truth, generator=generator, share=share)
            loss = nn.functional.cross_entropy(module(images), truth)
            losses.append(float(loss.detach()))
            if not losses[-1] < torch.inf:  # NaN as well
                raise Diverged(step, "the training loss is not finite")
            for group in optimiser.param_groups:
                group["lr"] = rate(step)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        return sum(losses) / len(losses), rate(step)

    def _plan(self, module: nn.Module, x: Tensor) -> str:
        size = sum(p.numel() for p in module.parameters())
        return f"{asdict(self)} of {size} weights on {len(x)} images"


def training_mode(module: nn.Module) -> None:
    """Training mode for the parts that learn; parts whose own parameters are all frozen stay as they are."""
    module.train()
    for part in module.modules():
        parameters = list(part.parameters(recurse=False))
        if parameters and not any(p.requires_grad for p in parameters):
            part.eval()


def _observed(observe: Observe | None, epoch: int, module: nn.Module) -> dict[str, Any]:
    if observe is None:
        return {}
    module.eval()
    return dict(observe(epoch, module))
