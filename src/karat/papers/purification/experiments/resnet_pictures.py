"""Perturbations and feature pictures of a residual net before and after adversarial training."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from karat.core.ball import Ball
from karat.core.checks import require_integer
from karat.nets.image_net import conv_layers
from karat.papers.purification.experiments.image_measures import ascent_values, density_values, perturbations
from karat.papers.purification.experiments.image_setting import source_or_digits
from karat.papers.purification.experiments.trained_pair import PairSetting, right_first, train_pair
from karat.probes.roughness import centred, low_frequency_share, roughness
from karat.study.experiment import Experiment, Preset
from karat.study.quantised import quantise

NAME = "purification.resnet_pictures"
SHOWN = 8
"""Images and channels kept as pictures."""


@dataclass(frozen=True, kw_only=True)
class Config(PairSetting):
    """Settings of one run.

    Args:
        channels: how many of each deep layer are drawn.
    """

    channels: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.channels, "channels", "Config", minimum=1)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train clean, then adversarially; density and pictures of both nets' perturbations and features."""
    pair = train_pair(NAME, config, generator)
    images, nets = pair.images, {name: pair.nets[name] for name in ("clean", "robust")}
    x, labels, right = right_first(nets["robust"], images, config.attacked)
    ball = Ball(2, config.tau)
    deltas = {
        f"{name}_delta": perturbations(net, x, labels, ball, config.steps) for name, net in nets.items()
    }
    values = pair.values | density_values(deltas, x, images.x) | {"seen": len(x), "seen_right": right}
    values["shown"] = quantise(x[:SHOWN])
    values["shown_deltas"] = {name: quantise(delta[:SHOWN]) for name, delta in deltas.items()}
    layers = deep_layers(list(conv_layers(nets["clean"])))
    shape = tuple(x.shape[1:])
    values["ascent"], drawn = ascent_values(nets, layers, config.channels, shape, config.ascent, seed=0)
    values["ascent_pictures"] = {name: quantise(pictures[:SHOWN]) for name, pictures in drawn.items()}
    values["image_roughness"] = float(roughness(centred(x)).mean())
    values["image_low"] = float(low_frequency_share(centred(x)).mean())
    return values


def deep_layers(names: list[str]) -> tuple[str, str]:
    """The last convolution and one three quarters up."""
    return names[3 * (len(names) - 1) // 4], names[-1]


_HERE = source_or_digits("cifar10_pair")
_QUICK = Config(
    network="resnet:8",
    source=_HERE,
    n=None,
    clean_epochs=6,
    robust_epochs=3,
    lr=0.1,
    robust_lr=0.05,
    weight_decay=1e-4,
    attacked=100,
    restarts=1,
    attacker="linf:8@3",
)

RESNET_PICTURES = Experiment(
    name=NAME,
    title="What do perturbations and deep features of a residual net look like before and after?",
    paper="purification",
    part="images",
    presets={
        "tiny": Preset(
            config=replace(
                _QUICK,
                network="resnet:2",
                source="digits",
                n=128,
                batch_size=32,
                test=100,
                clean_epochs=1,
                robust_epochs=1,
                attacked=12,
                steps=4,
                attacker="linf:32@2",
                ascent_steps=4,
                channels=3,
            ),
            seeds=1,
            cell_seconds=2,
        ),
        "quick": Preset(config=_QUICK, seeds=1, cell_seconds=180),
        "full": Preset(
            config=replace(
                _QUICK,
                network="preact34",
                source="cifar10",
                clean_epochs=50,
                robust_epochs=50,
                lr=0.1,
                robust_lr=0.1,
                schedule="steps",
                milestones=(40,),
                attack_warmup=10,
                attacker="l2:1:0.25",
                attacked=500,
                restarts=3,
                paper_ascent=True,
            ),
            seeds=3,
            cell_seconds=1_000_000,
        ),
    },
    run=run,
)
