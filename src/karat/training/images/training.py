"""Training of image networks: SGD with momentum and weight decay, clean or against an attacker."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.core.checks import require_choice, require_integer, require_number
from karat.core.divergence import Diverged
from karat.training.images.annealing import Milestones, WarmCosine
from karat.training.images.attackers import ImageAttacker
from karat.training.images.augmentation import AUGMENTATIONS
from karat.training.images.checkpoint import Checkpoint
from karat.training.schedules import Schedule

Observe = Callable[[int, nn.Module], Mapping[str, Any]]
Curve = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ImageTraining:
    """Mini-batch SGD on the cross entropy of attacked, augmented images.

        v <- momentum v + (grad + weight_decay w),   w <- w - lr_t v

    Args:
        epochs, lr, weight_decay, momentum, batch_size: the rest of an epoch that fills no batch is skipped.
        schedule: "cosine" falls to zero after `warmup` of the steps, "steps" divides by ten after each of the
            epochs in `milestones`.
        attacker: None trains on clean images.
        attack_warmup: epochs over which its radius grows from zero.
        augment: one of `AUGMENTATIONS`.
        device: where the net is trained, "cpu" or "cuda".

    Reading: weight decay acts on all weights, norms and biases included, as in the paper's code. Parameters
        that ask for no gradient are left alone bit for bit; norms all of whose parameters are frozen keep
        their running statistics too. Random numbers are drawn on the CPU on every device.

    Ref: purification, Sec 8
    """

    epochs: int
    lr: float
    weight_decay: float
    momentum: float = 0.9
    batch_size: int = 128
    schedule: Literal["cosine", "steps"] = "cosine"
    warmup: float = 0.1
    milestones: tuple[int, ...] = ()
    attacker: ImageAttacker | None = None
    attack_warmup: int = 0
    augment: str = "crop+flip"
    device: str = "cpu"

    def __post_init__(self) -> None:
        owner = "ImageTraining"
        require_integer(self.epochs, "epochs", owner, minimum=0)
        require_integer(self.batch_size, "batch_size", owner, minimum=1)
        require_integer(self.attack_warmup, "attack_warmup", owner, minimum=0)
        require_number(self.lr, "lr", owner, positive=True)
        require_number(self.weight_decay, "weight_decay", owner, minimum=0)
        require_number(self.momentum, "momentum", owner, minimum=0, maximum=1)
        require_number(self.warmup, "warmup", owner, minimum=0, maximum=1)
        require_choice(self.schedule, "schedule", owner, ("cosine", "steps"))
        require_choice(self.augment, "augment", owner, AUGMENTATIONS)

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
            x: (n, channels, height, width) with pixels in [0, 1].
            labels: (n,) class indices.
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
        """weight_decay sum_t lr_t / (1 - momentum) on n images: idle weights shrink by about e to minus this.

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
            if not losses[-1] < torch.inf:
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
        own = list(part.parameters(recurse=False))
        if own and not any(p.requires_grad for p in own):
            part.eval()


def _observed(observe: Observe | None, epoch: int, module: nn.Module) -> dict[str, Any]:
    if observe is None:
        return {}
    module.eval()
    return dict(observe(epoch, module))
