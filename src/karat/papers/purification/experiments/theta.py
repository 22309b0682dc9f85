"""How far do filters turn in clean training, and how far in adversarial training after it?"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.ball import Ball
from karat.nets.image_net import layer_filters
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.image_setting import (
    ImageResult,
    Images,
    ImageSetting,
    Scores,
    all_scores,
    checkpoint_file,
    load,
    provenance,
    source_or_digits,
)
from karat.papers.purification.experiments.layer_angles import LayerAngles, layer_angles, turned
from karat.probes.cosines import cosines_between
from karat.probes.image_accuracy import robust_accuracy
from karat.probes.live_rows import live_filters
from karat.study.experiment import Experiment, Preset
from karat.training.images.attackers import named_attacker
from karat.training.images.training import Curve, ImageTraining, Observe

NAME = "purification.theta"
GLANCE = 200
"""Test images whose robust accuracy is followed over the epochs, with ten steps of attack."""

Filters = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class ThetaConfig(ImageSetting):
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


@dataclass(frozen=True, kw_only=True)
class ThetaResult(LayerAngles, ImageResult):
    r"""Angles of every layer at the end and over the epochs, and the accuracies of the three nets.

    Args:
        layers: their names.
        clean_control: mean of :math:`\theta(w, w'')` per layer, :math:`w''` after more clean training.
        clean_control_small: share of it at most 0.2.
        clean_control_large: share of it at least 0.8.
        start_clean_all: mean of :math:`\theta(w_0, w)` with the dead filters: what a plain mean would say.
        decay_exponent: weight decay times summed rates over 1 - momentum; e to minus it is what is left of an
            idle first weight.
        clean_curve: :math:`\theta(w_0, w_t)` per epoch of clean training and layer.
        robust_curve: :math:`\theta(w, w_t)` per epoch of adversarial training and layer.
        control_curve: the same for the control.
        robust_curve_accuracy: robust accuracy per epoch of adversarial training.
        clean: accuracies after clean training.
        robust: accuracies after adversarial training.
        control: accuracies after more clean training.
    """

    layers: list[str]
    clean_control: list[float]
    clean_control_small: list[float]
    clean_control_large: list[float]
    start_clean_all: list[float]
    decay_exponent: float
    clean_curve: list[list[float]]
    robust_curve: list[list[float]]
    control_curve: list[list[float]]
    robust_curve_accuracy: list[float]
    clean: Scores
    robust: Scores
    control: Scores


def run(config: ThetaConfig, generator: torch.Generator) -> ThetaResult:
    """Train clean, then adversarially and, from the same clean net, clean again; compare the filters."""
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
    # In this order, since all attacks take their draws from one generator.
    scores = {stage: all_scores(nets[stage], images, config.attacker, config, draws[5]) for stage in nets}
    theta = {stage: [row["theta"] for row in curve] for stage, curve in curves.items()}
    return ThetaResult(
        **provenance(config, images),
        **_angles(start, clean, layer_filters(nets["robust"]), layer_filters(nets["control"])),
        decay_exponent=plan.decay_exponent(len(images.x)),
        clean_curve=theta["clean"],
        robust_curve=theta["robust"],
        control_curve=theta["control"],
        robust_curve_accuracy=[row["robust"] for row in curves["robust"]],
        clean=scores["clean"],
        robust=scores["robust"],
        control=scores["control"],
    )


def _observer(since: Filters, images: Images, ball: Ball | None) -> Observe:
    """Angles to earlier filters and, given a ball, robust accuracy under ten steps from the images."""
    x, labels = images.first(GLANCE)

    def observe(epoch: int, module: nn.Module) -> dict[str, Any]:
        row: dict[str, Any] = {"theta": _mean_angles(since, layer_filters(module))}
        if ball is not None:
            # Nothing random: the run starts at the images.
            row["robust"] = robust_accuracy(
                module, x, labels, ball, generator=torch.Generator(), steps=10, restarts=0
            )
        return row

    return observe


def _angles(start: Filters, clean: Filters, robust: Filters, control: Filters) -> dict[str, Any]:
    """The fields of the result that compare filters."""
    w0, w, w_robust, w_control = ([W[name] for name in clean] for W in (start, clean, robust, control))
    further = turned(w, w_control, w)
    everywhere = [
        cosines_between(A, B, torch.ones(len(B), dtype=torch.bool)) for A, B in zip(w0, w, strict=True)
    ]
    return vars(layer_angles(w0, w, w_robust)) | {
        "layers": list(clean),
        "clean_control": further.mean,
        "clean_control_small": further.small,
        "clean_control_large": further.large,
        "start_clean_all": [angles.mean for angles in everywhere],
    }


def _mean_angles(first: Filters, second: Filters) -> list[float]:
    """Mean theta of every layer over the filters that are alive in both."""
    means = []
    for name, W in first.items():
        # Filters die during training; the direction of a dead one is noise.
        live = live_filters(W) & live_filters(second[name])
        means.append(cosines_between(W, second[name], live).mean)
    return means


_HERE = source_or_digits("cifar10")
# AlexNet has no norms and does not leave its plateau on a few thousand digits; a small ResNet does.
_BASE = ThetaConfig(
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
        "quick": Preset(config=_BASE, grid={"weight_decay": (5e-4, 5e-3)}, seeds=2, cell_seconds=90),
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
