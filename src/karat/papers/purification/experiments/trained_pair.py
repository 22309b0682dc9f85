"""A net at its start, after clean training, and after adversarial (or, as a control, more clean) training."""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.ranges import Positive, settings
from karat.nets.image_net import conv_layers
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.feature_pictures import AscentSetting
from karat.papers.purification.experiments.image_setting import (
    Images,
    checkpoint_file,
    clean_score,
    load,
    provenance,
    scores,
)
from karat.probes.activity import active_shares
from karat.probes.image_accuracy import correct
from karat.study.quantised import quantise, restore
from karat.training.images.attackers import named_attacker
from karat.training.images.training import ImageTraining

WATCHED = 250
"""Test images on which activity is followed over the epochs."""


@dataclass(frozen=True, kw_only=True)
@settings
class PairSetting(AscentSetting):
    """Settings of a clean and a robust net that are looked at side by side.

    Args:
        attacker: of the adversarial training, by name.
        tau: l2 radius of the perturbations that are shown.
    """

    attacker: str
    tau: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        named_attacker(self.attacker)  # its own checks


@dataclass(frozen=True, eq=False)
class Pair:
    """A clean and a robust net, and what was seen on the way.

    Args:
        images: of training and test.
        nets: "start", "clean", "robust" and, as a control, "continued".
        filters: first-layer filters before clean training and after each of its epochs.
        values: accuracies, `activity` per epoch and rectifier, and where the images come from.
    """

    images: Images
    nets: dict[str, nn.Module]
    filters: list[Tensor]
    values: dict[str, Any]


def train_pair(
    experiment: str, config: PairSetting, generator: torch.Generator, *, control: bool = False
) -> Pair:
    """Train clean, then adversarially from there and, as a control, for the same epochs without attacker.

    Args:
        experiment: its name, for the checkpoints.
        config: of the run.
        generator: of the run.
        control: whether the net "continued" is trained, too.
    """
    for_images, for_start, for_clean, for_robust, for_control, for_attacks = split(generator, 6)
    images = load(config, for_images)
    nets = {"start": images.network(config.network, for_start)}

    def observe(epoch: int, net: nn.Module) -> dict[str, Any]:
        watched = images.x_test[:WATCHED].to(config.device)
        active = list(active_shares(net, watched).values())
        return {"active": active, "filters": quantise(first_filters(net).cpu())}

    def trained(stage: str, origin: str, plan: ImageTraining, draw: torch.Generator) -> list[dict[str, Any]]:
        nets[stage] = copy.deepcopy(nets[origin])
        file = checkpoint_file(experiment, config, generator, stage)
        return plan.run(
            nets[stage], images.x, images.labels, generator=draw, observe=observe, checkpoint=file
        )

    robust, continued = (
        config.plan(config.robust_epochs, config.robust_lr, attacker) for attacker in (config.attacker, None)
    )
    curves = {
        "clean": trained("clean", "start", config.plan(config.clean_epochs, config.lr), for_clean),
        "robust": trained("robust", "clean", robust, for_robust),
    }
    if control:
        curves["continued"] = trained("continued", "clean", continued, for_control)
    values = provenance(config, images)
    values["activity"] = {stage: [row["active"] for row in curve] for stage, curve in curves.items()}
    for stage in curves:
        values[f"{stage}_accuracy"] = clean_score(nets[stage], images)
        attacked = scores(nets[stage], images, config.attacker, config, for_attacks)
        values |= {f"{stage}_{name}": value for name, value in attacked.items()}
    filters = [torch.from_numpy(restore(row["filters"])) for row in curves["clean"]]
    return Pair(images, {name: net.cpu() for name, net in nets.items()}, filters, values)


def first_filters(net: nn.Module) -> Tensor:
    """(m, channels, height, width) weights of the first convolution, copied."""
    return next(iter(conv_layers(net).values())).weight.detach().clone()


def right_first(net: nn.Module, images: Images, count: int) -> tuple[Tensor, Tensor, int]:
    """Test images, labels and how many of them the net gets right: the right ones come first.

    Args:
        net: whose answers count.
        images: with the test images.
        count: how many images at most.

    Reading: the paper takes the first 100 images that the robust net classifies correctly.

    Ref: purification, Fig 12
    """
    right = correct(net, images.x_test, images.labels_test)
    order = torch.argsort((~right).to(torch.int8), stable=True)[:count]
    return images.x_test[order], images.labels_test[order], int(right[order].sum())
