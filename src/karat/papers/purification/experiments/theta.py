"""How far do filters turn in clean training, and how far in adversarial training after it?"""

import copy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.ball import Ball
from karat.nets.image_net import layer_filters
from karat.papers.purification.experiments.image_setting import (
    Images,
    ImageSetting,
    checkpoint_file,
    clean_score,
    load,
    provenance,
    scores,
    source_or_digits,
)
from karat.papers.purification.experiments.regime import split
from karat.probes.cosines import chance_cosine, cosines_between, pairwise_cosines
from karat.probes.image_accuracy import robust_accuracy
from karat.probes.live_rows import live_filters
from karat.study.experiment import Experiment, Preset
from karat.training.images.attackers import named_attacker
from karat.training.images.training import Curve, ImageTraining, Observe

NAME = "purification.theta"
GLANCE = 200
"""Test images whose robust accuracy is followed over the epochs, with ten steps of attack."""

Filters = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Config(ImageSetting):
    """Settings of one run: clean training, then adversarial training and, as a control, more clean training.

    Args:
        attacker: of the adversarial training, by name.

    Reading: weight decay decides whether the first weights are forgotten within this length of training; it
        is varied with everything else fixed.
    """

    attacker: str = "l2:1"

    def __post_init__(self) -> None:
        super().__post_init__()
        named_attacker(self.attacker)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """theta per layer at the end and per epoch, shares of small and large ones, accuracies of the nets."""
    draws = split(generator, 6)
    images = load(config, draws[0])
    net = images.network(config.network, draws[1])
    start = layer_filters(net)

    def train(
        stage: str, module: nn.Module, plan: ImageTraining, since: Filters, draw: torch.Generator
    ) -> Curve:
        return plan.run(
            module,
            images.x,
            images.labels,
            generator=draw,
            observe=_observer(since, images, None if plan.attacker is None else plan.attacker.ball()),
            checkpoint=checkpoint_file(NAME, config, generator, stage),
        )

    plan = config.plan(config.clean_epochs, config.lr)
    curves = {"clean": train("clean", net, plan, start, draws[2])}
    nets, clean = {"clean": net}, layer_filters(net)
    for stage, attacker, draw in (("robust", config.attacker, draws[3]), ("control", None, draws[4])):
        nets[stage] = copy.deepcopy(net)
        further = config.plan(config.robust_epochs, config.robust_lr, attacker)
        curves[stage] = train(stage, nets[stage], further, clean, draw)
    values = provenance(config, images) | _layer_values(
        start, clean, layer_filters(nets["robust"]), layer_filters(nets["control"])
    )
    values["decay_exponent"] = plan.decay_exponent(len(images.x))
    for stage, curve in curves.items():
        values[f"{stage}_curve"] = [row["theta"] for row in curve]
    values["robust_curve_accuracy"] = [row["robust"] for row in curves["robust"]]
    for stage, trained in nets.items():
        values[f"{stage}_accuracy"] = clean_score(trained, images)
        found = scores(trained, images, config.attacker, config, draws[5])
        values |= {f"{stage}_{name}": value for name, value in found.items()}
    return values


def _observer(since: Filters, images: Images, ball: Ball | None) -> Observe:
    """Angles to earlier filters and, given a ball, robust accuracy under ten steps from the images."""
    x, labels = images.first(GLANCE)

    def observe(epoch: int, module: nn.Module) -> dict[str, Any]:
        row: dict[str, Any] = {"theta": _means(since, layer_filters(module))}
        if ball is not None:
            # Nothing random: the run starts at the images.
            row["robust"] = robust_accuracy(
                module, x, labels, ball, generator=torch.Generator(), steps=10, restarts=0
            )
        return row

    return observe


def _layer_values(start: Filters, clean: Filters, robust: Filters, control: Filters) -> dict[str, Any]:
    """Lists over layers; live filters are those of the clean net."""
    live = {name: live_filters(W) for name, W in clean.items()}
    pairs = {
        "start_clean": (start, clean),
        "start_robust": (start, robust),
        "clean_robust": (clean, robust),
        "clean_control": (clean, control),
    }
    values: dict[str, Any] = {
        "layers": list(clean),
        "chance": [chance_cosine(W.shape[1]) for W in clean.values()],
        "live": [int(rows.sum()) for rows in live.values()],
        "filters": [len(W) for W in clean.values()],
    }
    for pair, (first, second) in pairs.items():
        found = [cosines_between(first[name], second[name], live[name]) for name in clean]
        values |= {
            pair: [angles.mean for angles in found],
            f"{pair}_small": [angles.small for angles in found],
            f"{pair}_large": [angles.large for angles in found],
        }
    between = [pairwise_cosines(clean[name], live[name]) for name in clean]
    return values | {
        "pairs": [angles.mean for angles in between],
        "pairs_small": [angles.small for angles in between],
        # All filters, dead ones too: what a plain mean would say.
        "start_clean_all": [
            cosines_between(start[name], clean[name], torch.ones_like(live[name])).mean for name in clean
        ],
    }


def _means(first: Filters, second: Filters) -> list[float]:
    """Mean theta of every layer over the filters that are alive in both."""
    found = []
    for name, W in first.items():
        live = live_filters(W) & live_filters(second[name])
        found.append(cosines_between(W, second[name], live).mean)
    return found


_HERE = source_or_digits("cifar10")
# AlexNet has no norms and does not leave its plateau on a few thousand digits; a small ResNet does.
_BASE = Config(
    network="alexnet:0.25" if _HERE == "cifar10" else "resnet:4",
    source=_HERE,
    n=None if _HERE == "cifar10" else 3000,
    clean_epochs=40 if _HERE == "cifar10" else 15,
    robust_epochs=4,
    lr=0.1,
    robust_lr=0.02,
    weight_decay=5e-3,
    batch_size=64,
    attacked=400,
    restarts=2,
    attacker="l2:1" if _HERE == "cifar10" else "l2:2",
)

THETA = Experiment(
    name=NAME,
    title="How far do filters turn in clean training, and how far in adversarial training after it?",
    paper="purification",
    part="images",
    presets={
        "tiny": Preset(
            config=replace(
                _BASE,
                network="alexnet:0.05",
                source="digits",
                n=160,
                test=60,
                attacked=20,
                clean_epochs=2,
                robust_epochs=1,
                batch_size=32,
                steps=5,
                restarts=1,
                attacker="l2:2",
            ),
            grid={"weight_decay": (5e-4, 5e-3)},
            seeds=1,
            cell_seconds=2,
        ),
        "quick": Preset(config=_BASE, grid={"weight_decay": (5e-4, 2e-3, 5e-3)}, seeds=1, cell_seconds=90),
        "full": Preset(
            config=replace(
                _BASE,
                network="alexnet:1",
                source="cifar10",
                n=None,
                clean_epochs=164,
                robust_epochs=50,
                lr=0.02,
                robust_lr=0.02,
                weight_decay=5e-4,
                batch_size=128,
                attack_warmup=10,
                attacked=1000,
                restarts=3,
                schedule="steps",
                milestones=(81, 122),
                attacker="l2:1:0.25",
            ),
            points=(
                {},
                {"weight_decay": 5e-3},
                {"network": "wrn:34:1", "lr": 0.1, "robust_lr": 0.1, "weight_decay": 1e-4},
            ),
            seeds=3,
            cell_seconds=200_000,
        ),
    },
    run=run,
)
