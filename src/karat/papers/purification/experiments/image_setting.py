"""What the deep image experiments share: the images, the network, the plans of training, the scores."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.certificates.smoothing import smoothed_certificate
from karat.core.checks import require_integer, require_number, require_settings
from karat.data.images import available, load_images
from karat.nets.networks import build_network
from karat.probes.image_accuracy import accuracy, attacker_accuracy, device_of, robust_accuracy
from karat.study.config import config_to_json
from karat.study.record import config_hash
from karat.training.images.attackers import ImageAttacker, named_attacker
from karat.training.images.training import ImageTraining

Source = Literal["digits", "cifar10", "cifar10_pair"]
SIDE = 32
CERTIFIED_AT = (0.0, 0.25, 0.5)
"""l2 radii at which certified accuracy is reported."""


@dataclass(frozen=True, kw_only=True)
class ImageSetting:
    """Network, images and training settings of one run.

    Args:
        network: a name of `NETWORKS` with its sizes.
        source: the images.
        n, test: how many are used to train and to measure, None for all there are.
        clean_epochs, robust_epochs: of training on images and on attacked images.
        lr, robust_lr: their rates, from random weights both use `lr`; weight_decay, batch_size.
        attack_warmup: epochs over which the radius grows.
        schedule, milestones: see `ImageTraining`.
        attacked: test images for the attacks.
        steps, restarts: of the strong attack; device.
    """

    network: str
    source: Source
    n: int | None
    clean_epochs: int
    robust_epochs: int
    lr: float
    robust_lr: float
    weight_decay: float
    batch_size: int = 128
    attack_warmup: int = 1
    schedule: Literal["cosine", "steps"] = "cosine"
    milestones: tuple[int, ...] = ()
    test: int | None = None
    attacked: int = 500
    steps: int = 50
    restarts: int = 3
    device: str = "cpu"

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in ("clean_epochs", "robust_epochs", "batch_size", "attacked", "steps"):
            require_integer(getattr(self, name), name, owner, minimum=1)
        for name in ("attack_warmup", "restarts"):
            require_integer(getattr(self, name), name, owner, minimum=0)
        for name in ("n", "test"):
            if getattr(self, name) is not None:
                require_integer(getattr(self, name), name, owner, minimum=2)
        for name in ("lr", "robust_lr"):
            require_number(getattr(self, name), name, owner, positive=True)
        require_number(self.weight_decay, "weight_decay", owner, minimum=0)
        require_settings(self)

    def plan(
        self,
        epochs: int,
        lr: float,
        attacker: str | None = None,
        *,
        milestones: tuple[int, ...] | None = None,
    ) -> ImageTraining:
        """The training of a stage; attackers by name."""
        return ImageTraining(
            epochs=epochs,
            lr=lr,
            weight_decay=self.weight_decay,
            batch_size=self.batch_size,
            schedule=self.schedule,
            milestones=self.milestones if milestones is None else milestones,
            attacker=None if attacker is None else named_attacker(attacker),
            attack_warmup=self.attack_warmup,
            augment="crop" if self.source == "digits" else "crop+flip",
            device=self.device,
        )


@dataclass(frozen=True, eq=False)
class Images:
    """Training images in random order and test images, pixels in [0, 1], all 32 x 32."""

    x: Tensor
    labels: Tensor
    x_test: Tensor
    labels_test: Tensor
    classes: int

    def network(self, name: str, generator: torch.Generator) -> nn.Module:
        """A freshly drawn network for these images."""
        return build_network(name, self.classes, generator=generator, channels=self.x.shape[1])

    def first(self, count: int) -> tuple[Tensor, Tensor]:
        """The first test images, which are in random order."""
        return self.x_test[:count], self.labels_test[:count]


def load(config: ImageSetting, generator: torch.Generator) -> Images:
    """The images of a setting; digits are framed by zeros to 32 x 32."""

    def part(train: bool, count: int | None) -> tuple[Tensor, Tensor]:
        x, labels = load_images(config.source, train=train)
        order = torch.randperm(len(x), generator=generator)[:count]
        edge = SIDE - x.shape[-1]
        return nn.functional.pad(x[order], (edge // 2, edge - edge // 2) * 2), labels[order]

    (x, labels), (x_test, labels_test) = part(True, config.n), part(False, config.test)
    return Images(x, labels, x_test, labels_test, 2 if config.source == "cifar10_pair" else 10)


def provenance(config: ImageSetting, images: Images) -> dict[str, Any]:
    """Which images were used, and whether digits stood in for colour photographs."""
    return {
        "images": config.source,
        "fallback": config.source == "digits",
        "trained_on": len(images.x),
        "tested_on": len(images.x_test),
    }


def source_or_digits(source: Source) -> Source:
    """The images if they are here, else the embedded digits."""
    return source if available(source) else "digits"


def scores(
    net: nn.Module, images: Images, attacker: str, config: ImageSetting, generator: torch.Generator
) -> dict[str, float]:
    """Accuracy on the attacker's copies and under the strong noise-free attack in the same ball."""
    x, labels = images.first(config.attacked)
    named = named_attacker(attacker)
    return {
        "attacker": attacker_accuracy(net, x, labels, named, generator=generator),
        "strong": robust_accuracy(
            net, x, labels, named.ball(), generator=generator, steps=config.steps, restarts=config.restarts
        ),
    }


def clean_score(net: nn.Module, images: Images) -> float:
    """Accuracy on all test images, without noise."""
    return accuracy(net, images.x_test, images.labels_test)


def certified(
    net: nn.Module,
    images: Images,
    attacker: ImageAttacker,
    count: int,
    votes: int,
    generator: torch.Generator,
) -> list[float]:
    """Certified accuracy of the net smoothed with the attacker's noise, at `CERTIFIED_AT`."""
    x, labels = images.first(count)
    device = device_of(net.eval())
    found = smoothed_certificate(
        lambda noisy: net(noisy.to(device)).cpu(),
        x,
        sigma=attacker.sigma,
        draws=votes,
        selection=max(1, votes // 10),
        generator=generator,
    )
    right = (found.prediction == labels) & ~found.abstained
    return [float((right & (found.radius >= radius)).double().mean()) for radius in CERTIFIED_AT]


def checkpoint_file(experiment: str, config: Any, generator: torch.Generator, stage: str) -> Path | None:
    """Where a stage of this cell keeps its checkpoint: below the folder KARAT_CHECKPOINTS, if that is set."""
    folder = os.environ.get("KARAT_CHECKPOINTS")
    if not folder:
        return None
    name = f"{experiment}-{config_hash(experiment, config_to_json(config))}-{generator.initial_seed()}"
    return Path(folder) / name / f"{stage.replace(':', '_')}.pt"
