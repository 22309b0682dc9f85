"""Perturbations and feature pictures of a residual net before and after adversarial training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from karat.core.ranges import Count
from karat.nets.image_net import conv_layers
from karat.papers.purification.experiments.image_codes import span_errors
from karat.papers.purification.experiments.image_measures import StagesResult, Views, ViewsResult, look
from karat.papers.purification.experiments.image_setting import source_or_digits
from karat.papers.purification.experiments.trained_pair import Pair, PairSetting, first_filters, train_pair
from karat.probes.reconstruction import filter_atoms, rescaled
from karat.probes.roughness import centred, low_frequency_share, roughness
from karat.study.experiment import Experiment, Preset
from karat.study.result import from_values

NAME = "purification.resnet_pictures"
SHOWN = 8
"""Images and channels kept as pictures."""


@dataclass(frozen=True, kw_only=True)
class ResnetPicturesConfig(PairSetting):
    """Settings of one run.

    Args:
        channels: how many of each deep layer are drawn.
        span_stride: distance between the places of the first layer's filters that are to span perturbations.
    """

    channels: Count = 8
    span_stride: Count = 1


@dataclass(frozen=True, kw_only=True)
class ResnetPicturesResult(StagesResult, ViewsResult):
    """What both nets make of images, beside the images themselves.

    Args:
        image_roughness: mean of the images that were attacked.
        image_low: their mean low-frequency share.
        span: "clean_delta|net", a net of "start" and "robust" -> error of the best regression on its filters.
        span_atoms: filters times places.
    """

    image_roughness: float
    image_low: float
    span: dict[str, float]
    span_atoms: int


def run(config: ResnetPicturesConfig, generator: torch.Generator) -> ResnetPicturesResult:
    """Train clean, then adversarially; density and pictures of both nets' perturbations and features."""
    pair = train_pair(NAME, config, generator)
    layers = deep_layers(list(conv_layers(pair.nets["clean"])))
    views = look(pair, config, count=config.attacked, layers=layers, channels=config.channels, shown=SHOWN)
    return ResnetPicturesResult(
        **vars(from_values(StagesResult, pair.values)),
        **vars(views.result),
        image_roughness=float(roughness(centred(views.x)).mean()),
        image_low=float(low_frequency_share(centred(views.x)).mean()),
        **_span(config, pair, views),
    )


def _span(config: ResnetPicturesConfig, pair: Pair, views: Views) -> dict[str, Any]:
    """Regress the clean net's perturbations on the filters of the first layer at all their places."""
    x = views.x
    shape = tuple(x.shape[1:])
    filters = {net: first_filters(pair.nets[net]) for net in ("start", "robust")}
    atoms = {net: filter_atoms(w, shape, stride=config.span_stride, padding=1) for net, w in filters.items()}
    targets = {"clean_delta": rescaled(views.deltas["clean_delta"], x)}
    return {"span": span_errors(atoms, targets), "span_atoms": len(atoms["start"])}


def deep_layers(names: Sequence[str]) -> tuple[str, str]:
    """Return the names of a convolution three quarters up, and of the last one."""
    return names[3 * (len(names) - 1) // 4], names[-1]


_HERE = source_or_digits("cifar10_pair")
_QUICK = ResnetPicturesConfig(
    network="resnet:8",
    source=_HERE,
    n=4000,
    clean_epochs=8,
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
        "quick": Preset(config=_QUICK, seeds=2, cell_seconds=150),
        "full": Preset(
            config=replace(
                _QUICK,
                network="wrn:34:1",
                source="cifar10",
                n=None,
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
            # Figures 7 and 10, Figure 6 with its black background, Figure 5 with its wide net.
            points=({}, {"background": "black"}, {"network": "wrn:28:10"}),
            seeds=3,
            cell_seconds=1_000_000,
        ),
    },
    run=run,
)
