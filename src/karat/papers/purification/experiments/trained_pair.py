"""A net at its start, after clean training, and after adversarial (or, as a control, more clean) training."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer, require_number
from karat.nets.image_net import conv_layers
from karat.papers.purification.experiments.image_setting import (
    Images,
    ImageSetting,
    checkpoint_file,
    clean_score,
    load,
    provenance,
    scores,
)
from karat.papers.purification.experiments.regime import split
from karat.probes.activity import active_shares
from karat.probes.image_accuracy import correct
from karat.probes.pictures import InputAscent
from karat.study.quantised import quantise, restore
from karat.training.images.attackers import named_attacker

WATCHED = 250
"""Test images on which activity is followed over the epochs."""


@dataclass(frozen=True, kw_only=True)
class PairSetting(ImageSetting):
    """Settings of a clean and a robust net that are looked at side by side.

    Args:
        attacker: of the adversarial training, by name.
        tau: l2 radius of the perturbations that are shown.
        ascent_steps: of the feature pictures.
        paper_ascent: take footnote 16's settings instead.
    """

    attacker: str
    tau: float = 1.0
    ascent_steps: int = 300
    paper_ascent: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        named_attacker(self.attacker)
        require_number(self.tau, "tau", type(self).__name__, positive=True)
        require_integer(self.ascent_steps, "ascent_steps", type(self).__name__, minimum=1)

    @property
    def ascent(self) -> InputAscent:
        """How feature pictures are drawn."""
        return InputAscent.paper() if self.paper_ascent else InputAscent(steps=self.ascent_steps)


@dataclass(frozen=True, eq=False)
class Pair:
    """The images, the nets "start", "clean", "robust" (and "continued"), and what was seen on the way.

    Args:
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
    """Train clean, then adversarially from there and, as a control, for the same epochs without attacker."""
    draws = split(generator, 6)
    images = load(config, draws[0])
    start = images.network(config.network, draws[1])

    def observe(epoch: int, net: nn.Module) -> dict[str, Any]:
        watched = images.x_test[:WATCHED].to(config.device)
        active = list(active_shares(net, watched).values())
        return {"active": active, "filters": quantise(first_filters(net).cpu())}

    nets = {"start": start, "clean": copy.deepcopy(start)}
    stages: Sequence[tuple[str, str | None]] = (("robust", config.attacker), ("continued", None))
    file = checkpoint_file(experiment, config, generator, "clean")
    plan = config.plan(config.clean_epochs, config.lr)
    curves = {
        "clean": plan.run(
            nets["clean"],
            images.x,
            images.labels,
            generator=draws[2],
            observe=observe,
            checkpoint=file,
        )
    }
    for (stage, attacker), draw in zip(stages if control else stages[:1], draws[3:5], strict=False):
        nets[stage] = copy.deepcopy(nets["clean"])
        curves[stage] = config.plan(config.robust_epochs, config.robust_lr, attacker).run(
            nets[stage],
            images.x,
            images.labels,
            generator=draw,
            observe=observe,
            checkpoint=checkpoint_file(experiment, config, generator, stage),
        )
    values = provenance(config, images)
    values["activity"] = {stage: [row["active"] for row in curve] for stage, curve in curves.items()}
    for stage in curves:
        values[f"{stage}_accuracy"] = clean_score(nets[stage], images)
        found = scores(nets[stage], images, config.attacker, config, draws[5])
        values |= {f"{stage}_{name}": value for name, value in found.items()}
    filters = [torch.from_numpy(restore(row["filters"])) for row in curves["clean"]]
    return Pair(images, {name: net.cpu() for name, net in nets.items()}, filters, values)


def first_filters(net: nn.Module) -> Tensor:
    """(m, channels, height, width) weights of the first convolution, copied."""
    return next(iter(conv_layers(net).values())).weight.detach().clone()


def right_first(net: nn.Module, images: Images, count: int) -> tuple[Tensor, Tensor, int]:
    """Test images, labels and how many of them the net gets right: the right ones come first.

    Reading: the paper takes the first 100 images that the robust net classifies correctly.

    Ref: purification, Fig 12
    """
    right = correct(net, images.x_test, images.labels_test)
    order = torch.argsort((~right).to(torch.int8), stable=True)[:count]
    return images.x_test[order], images.labels_test[order], int(right[order].sum())
