"""What the deep image experiments share: the images, the network, the plans of training, the scores."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from annotated_types import Ge
from torch import Tensor, nn

from karat.certificates.smoothing import smoothed_certificate
from karat.core.ranges import Count, NonNegative, Positive, Steps, settings
from karat.data.images import available, load_images
from karat.nets.networks import build_network, network_size
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
@settings
class ImageSetting:
    """Network, images and training settings of one run.

    Args:
        network: a name of `NETWORKS` with its sizes.
        source: the images.
        n: how many of them are used to train, None for all there are.
        clean_epochs: of training on images.
        robust_epochs: of training on attacked images.
        lr: rate of clean training, and of adversarial training from random weights.
        robust_lr: rate of adversarial training from a clean net.
        weight_decay: of every training.
        batch_size: of every training.
        attack_warmup: epochs over which the radius of training attacks grows.
        schedule: of the rates, see `ImageTraining`.
        milestones: epochs after which the rate falls, for the schedule "steps".
        test: how many images are used to measure, None for all there are.
        attacked: test images for the attacks.
        steps: of the strong attack.
        restarts: of the strong attack.
        device: where nets are trained, "cpu" or "cuda".
    """

    network: str
    source: Source
    n: Annotated[int, Ge(2)] | None
    clean_epochs: Count
    robust_epochs: Count
    lr: Positive
    robust_lr: Positive
    weight_decay: NonNegative
    batch_size: Count = 128
    attack_warmup: Steps = 1
    schedule: Literal["cosine", "steps"] = "cosine"
    milestones: tuple[Count, ...] = ()
    test: Annotated[int, Ge(2)] | None = None
    attacked: Count = 500
    steps: Count = 50
    restarts: Steps = 3
    device: str = "cpu"

    def __post_init__(self) -> None:
        """Nothing joins the settings here; the classes below add what theirs must fulfil."""

    @property
    def classes(self) -> int:
        """Labels of the images."""
        return 2 if self.source == "cifar10_pair" else 10

    @property
    def weights(self) -> int:
        """Parameters of the network for these images."""
        return network_size(self.network, self.classes, 1 if self.source == "digits" else 3).weights

    def plan(
        self,
        epochs: int,
        lr: float,
        attacker: str | None = None,
        *,
        milestones: tuple[int, ...] | None = None,
    ) -> ImageTraining:
        """Return the training of one stage.

        Args:
            epochs: its length.
            lr: its rate.
            attacker: by name, None for clean images.
            milestones: instead of the setting's own.
        """
        return ImageTraining(
            epochs=epochs,
            lr=lr,
            weight_decay=self.weight_decay,
            batch_size=self.batch_size,
            schedule=self.schedule,
            milestones=self.milestones if milestones is None else milestones,
            attacker=None if attacker is None else named_attacker(attacker),
            attack_warmup=self.attack_warmup,
            # A mirrored digit is another sign, a mirrored photograph is not.
            augment="crop" if self.source == "digits" else "crop+flip",
            device=self.device,
        )


@dataclass(frozen=True, kw_only=True)
class ImageResult:
    """What every result on images says about them.

    Args:
        images: the source.
        fallback: whether digits stood in for colour photographs.
        trained_on: how many images.
        tested_on: how many images.
    """

    images: str
    fallback: bool
    trained_on: int
    tested_on: int

    def images_attacked(self, config: ImageSetting) -> int:
        """Return how many test images the attacks met: as many as asked for, if there were so many."""
        return min(config.attacked, self.tested_on)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Accuracies of one net.

    Args:
        accuracy: on all test images.
        attacker: on the training attacker's own copies, its noise included: the paper's measure.
        strong: under the strong noise-free attack in the same ball.
    """

    accuracy: float
    attacker: float
    strong: float


@dataclass(frozen=True, kw_only=True)
class ScoreLists:
    """Accuracies of several nets, or of one net against several attackers.

    Args:
        accuracy: as in `Scores`.
        attacker: as in `Scores`.
        strong: as in `Scores`.
    """

    accuracy: list[float]
    attacker: list[float]
    strong: list[float]

    @classmethod
    def of(cls, scores: Sequence[Scores]) -> Self:
        """Return the lists of single scores."""
        return cls(
            accuracy=[score.accuracy for score in scores],
            attacker=[score.attacker for score in scores],
            strong=[score.strong for score in scores],
        )


@dataclass(frozen=True, eq=False)
class Images:
    """Training images and test images in random order, pixels in [0, 1], all 32 x 32.

    Args:
        x: (n, channels, 32, 32) to train with.
        labels: (n,) theirs.
        x_test: (n_test, channels, 32, 32) to measure on.
        labels_test: (n_test,) theirs.
        classes: how many labels there are.
    """

    x: Tensor
    labels: Tensor
    x_test: Tensor
    labels_test: Tensor
    classes: int

    def network(self, name: str, generator: torch.Generator) -> nn.Module:
        """Return a freshly drawn network for these images."""
        return build_network(name, self.classes, generator=generator, channels=self.x.shape[1])

    def first(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the first test images, which are in random order, and their labels."""
        return self.x_test[:count], self.labels_test[:count]


def load(config: ImageSetting, generator: torch.Generator) -> Images:
    """Return the images of a setting; digits are framed by zeros to 32 x 32."""

    def drawn(train: bool, count: int | None) -> tuple[Tensor, Tensor]:
        x, labels = load_images(config.source, train=train)
        order = torch.randperm(len(x), generator=generator)[:count]
        edge = SIDE - x.shape[-1]
        return nn.functional.pad(x[order], (edge // 2, edge - edge // 2) * 2), labels[order]

    (x, labels), (x_test, labels_test) = drawn(True, config.n), drawn(False, config.test)
    return Images(x, labels, x_test, labels_test, config.classes)


def provenance(config: ImageSetting, images: Images) -> dict[str, Any]:
    """Return the fields of an `ImageResult`."""
    return {
        "images": config.source,
        "fallback": config.source == "digits",
        "trained_on": len(images.x),
        "tested_on": len(images.x_test),
    }


def source_or_digits(source: Source) -> Source:
    """Return the source if its images are here, else the embedded digits."""
    return source if available(source) else "digits"


def all_scores(
    net: nn.Module, images: Images, attacker: str, config: ImageSetting, generator: torch.Generator
) -> Scores:
    """Return the accuracies of a net without attack, under the training attacker and under the strong one.

    Args:
        net: to be measured.
        images: whose test part is used.
        attacker: by name; the strong attack shares its ball.
        config: how many images are attacked, steps and restarts.
        generator: of the attackers' noise and random starts.
    """
    accuracy = clean_score(net, images)
    return Scores(accuracy=accuracy, **scores(net, images, attacker, config, generator))


def scores(
    net: nn.Module, images: Images, attacker: str, config: ImageSetting, generator: torch.Generator
) -> dict[str, float]:
    """Return the accuracies under attack: on the attacker's copies, and under the strong noise-free attack.

    Args:
        net: to be measured.
        images: whose test part is used.
        attacker: by name; the strong attack shares its ball.
        config: how many images are attacked, steps and restarts.
        generator: of the attackers' noise and random starts.
    """
    x, labels = images.first(config.attacked)
    named = named_attacker(attacker)
    return {
        "attacker": attacker_accuracy(net, x, labels, named, generator=generator),
        "strong": robust_accuracy(
            net, x, labels, named.ball(), generator=generator, steps=config.steps, restarts=config.restarts
        ),
    }


def clean_score(net: nn.Module, images: Images) -> float:
    """Return the accuracy on all test images, without noise."""
    return accuracy(net, images.x_test, images.labels_test)


def certified(
    net: nn.Module,
    images: Images,
    attacker: ImageAttacker,
    count: int,
    votes: int,
    generator: torch.Generator,
) -> list[float]:
    """Return the certified accuracy of the net smoothed with the attacker's noise, at `CERTIFIED_AT`.

    Args:
        net: to be smoothed.
        images: whose test part is used.
        attacker: with a noise level above zero.
        count: test images.
        votes: noise draws per image.
        generator: of the noise.
    """
    x, labels = images.first(count)
    device = device_of(net.eval())
    certificate = smoothed_certificate(
        lambda noisy: net(noisy.to(device)).cpu(),
        x,
        sigma=attacker.sigma,
        draws=votes,
        selection=max(1, votes // 10),
        generator=generator,
    )
    right = (certificate.prediction == labels) & ~certificate.abstained
    return [float((right & (certificate.radius >= radius)).double().mean()) for radius in CERTIFIED_AT]


def checkpoint_file(experiment: str, config: Any, generator: torch.Generator, stage: str) -> Path | None:
    """Return where a stage of a cell keeps its checkpoint: below KARAT_CHECKPOINTS, if that folder is set.

    Args:
        experiment: its name.
        config: of the cell.
        generator: of the cell, whose first seed names it.
        stage: of the training.
    """
    folder = os.environ.get("KARAT_CHECKPOINTS")
    if not folder:
        return None
    name = f"{experiment}-{config_hash(experiment, config_to_json(config))}-{generator.initial_seed()}"
    # Names of attackers contain colons, which some file systems refuse.
    return Path(folder) / name / f"{stage.replace(':', '_')}.pt"
