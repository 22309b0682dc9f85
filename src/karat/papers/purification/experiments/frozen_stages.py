"""Stages of training above frozen layers: their settings, what is frozen, when a stage ends."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.ranges import Count, Steps
from karat.nets.image_net import modules_before
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.feature_pictures import AscentSetting
from karat.papers.purification.experiments.image_setting import (
    Images,
    Scores,
    all_scores,
    checkpoint_file,
    clean_score,
)
from karat.probes.image_accuracy import attacker_accuracy
from karat.training.images.attackers import named_attacker

NAME = "purification.freezing"


@dataclass(frozen=True, kw_only=True)
class FreezingConfig(AscentSetting):
    """Settings of one run: `robust_epochs`, `clean_epochs` and `last_epochs` are T of the three stages.

    Args:
        attacker: by name.
        layers: convolutions l; below each everything is frozen at the net of stage 1, from it on everything
            is drawn anew. The first convolution freezes nothing: clean training from scratch, the reference
            of the others.
        last_epochs: of stage 3.
        warm_epochs: of clean training before stage 1.
        stop: whether stage 3 ends after the first epoch that brings both accuracies of stage 1 back, clean
            and under its attacker, as footnote 17 does.
        channels: how many features of each layer are drawn.

    Reading: frozen means weights, biases, norms and their running statistics, bit for bit. The paper's stage
        1 starts from random weights (`warm_epochs` 0); at reduced sizes that leaves a net which has learned
        too little to be called robust, and by Remark 8.1 the start does not matter.
    """

    attacker: str
    layers: tuple[str, ...]
    last_epochs: Count
    warm_epochs: Steps = 0
    stop: bool = False
    channels: Count = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        named_attacker(self.attacker)
        if not self.layers:
            raise ValueError(f"`layers` of `{type(self).__name__}` must name at least one convolution.")


def frozen_below(robust: nn.Module, layer: str, fresh: nn.Module) -> tuple[nn.Module, dict[str, Tensor]]:
    """Freeze what lies below a convolution at the robust net and leave the rest as freshly drawn.

    Args:
        robust: the net of stage 1.
        layer: name of the convolution.
        fresh: a net of the same shape, changed in place.

    Returns:
        `fresh`, and its frozen tensors by name.

    Ref: purification, Sec 8.2
    """
    names = modules_before(robust, layer)
    for name in names:
        module = fresh.get_submodule(name)
        module.load_state_dict(robust.get_submodule(name).state_dict())
        module.requires_grad_(False)
    prefixes = tuple(f"{name}." for name in names)
    # Without a module below, the empty tuple of prefixes must not match every name.
    below = {name: t for name, t in fresh.state_dict().items() if prefixes and name.startswith(prefixes)}
    return fresh, below


class _Reached(Exception):
    """Leaves a training after an epoch, with the net as it is then."""

    def __init__(self, epoch: int) -> None:
        super().__init__(f"the goal was reached after epoch {epoch}")
        self.epoch = epoch


@dataclass(frozen=True)
class Bench:
    """Trains nets in place and measures them, each stage with a checkpoint of its own.

    Args:
        config: of the run.
        images: of training and test.
        cell: generator of the cell, whose seed names the checkpoints.
    """

    config: FreezingConfig
    images: Images
    cell: torch.Generator

    def train(
        self,
        net: nn.Module,
        stage: str,
        epochs: int,
        lr: float,
        attacker: str | None,
        generator: torch.Generator,
        goal: Scores | None = None,
    ) -> int:
        """Train in place, with draws of its own; return the epochs, fewer if the goal ended it.

        Args:
            net: to be trained.
            stage: names its checkpoint.
            epochs: at most.
            lr: its rate.
            attacker: by name, None for clean images.
            generator: of batches and attacks.
            goal: accuracies that end the training, looked at after every epoch.
        """

        def observe(epoch: int, module: nn.Module) -> dict[str, Any]:
            if goal and epoch and self.reached(module, goal):
                raise _Reached(epoch)
            return {}

        try:
            self.config.plan(epochs, lr, attacker).run(
                net,
                self.images.x,
                self.images.labels,
                generator=split(generator, 1)[0],
                observe=None if goal is None else observe,
                checkpoint=checkpoint_file(NAME, self.config, self.cell, stage),
            )
        except _Reached as reached:
            return reached.epoch
        return epochs

    def reached(self, net: nn.Module, goal: Scores) -> bool:
        """Whether the accuracies, clean and under the training attacker, are at least those of the goal.

        Args:
            net: to be measured.
            goal: of stage 1.
        """
        if clean_score(net, self.images) < goal.accuracy:
            return False
        x, labels = self.images.first(self.config.attacked)
        attacker = named_attacker(self.config.attacker)
        # The noise with which the goal was measured.
        return attacker_accuracy(net, x, labels, attacker, generator=_noise()) >= goal.attacker

    def measure(self, net: nn.Module) -> Scores:
        """Clean, attacker and strong accuracy."""
        return all_scores(net, self.images, self.config.attacker, self.config, _noise())


def _noise() -> torch.Generator:
    """The same noise and starts for every net."""
    return torch.Generator().manual_seed(0)
