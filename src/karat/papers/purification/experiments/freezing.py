"""Three stages: robust lower layers are frozen, the upper ones trained clean and then adversarially."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from karat.nets.image_net import conv_layers, filters
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.feature_pictures import (
    FeatureMeasures,
    Quantised,
    feature_pictures,
)
from karat.papers.purification.experiments.frozen_stages import NAME, Bench, FreezingConfig, frozen_below
from karat.papers.purification.experiments.image_setting import (
    ImageResult,
    ScoreLists,
    Scores,
    load,
    provenance,
    source_or_digits,
)
from karat.papers.purification.experiments.layer_angles import LayerAngles, clean_pairs, layer_angles
from karat.study.experiment import Experiment, Preset
from karat.study.quantised import quantise

MOMENTS = ("start", "clean", "robust")
"""When the features of a layer are drawn: drawn anew, after stage 2, after stage 3."""

LAYER_27 = "stages.2.2.second"
"""The 27th convolution of the paper's ResNet-34."""


@dataclass(frozen=True, kw_only=True)
class FreezingResult(LayerAngles, ImageResult):
    """Scores after each stage and the angles of the layer drawn anew; lists over the layers of the config.

    Args:
        stage1: the robust net.
        stage2: after clean training above the frozen layers.
        stage3: after adversarial training above them.
        stage3_epochs: how many it took.
        frozen_tensors: how many there are below the layer.
        frozen_unchanged: whether training left them alone, bit for bit.
        pairs_large: share of pairs of different filters with an angle of at least 0.8.
        features: "moment|layer", a moment of `MOMENTS` -> feature pictures of the layer then.
        feature_pictures: the same names -> the pictures themselves.
    """

    stage1: Scores
    stage2: ScoreLists
    stage3: ScoreLists
    stage3_epochs: list[int]
    frozen_tensors: list[int]
    frozen_unchanged: list[bool]
    pairs_large: list[float]
    features: dict[str, FeatureMeasures]
    feature_pictures: dict[str, Quantised]


def run(config: FreezingConfig, generator: torch.Generator) -> FreezingResult:
    """Train a robust net, then train and measure what is drawn anew above each of the layers."""
    draws = split(generator, 3 + len(config.layers))
    images = load(config, draws[0])
    net = images.network(config.network, draws[1])
    bench = Bench(config, images, generator)
    known = conv_layers(net)
    for layer in config.layers:
        if layer not in known:
            owner = type(config).__name__
            raise ValueError(f"`layers` of `{owner}` must be among {', '.join(known)}; got {layer!r}.")
    if config.warm_epochs:
        bench.train(net, "stage0", config.warm_epochs, config.lr, None, draws[2])
    lr = config.robust_lr if config.warm_epochs else config.lr
    bench.train(net, "stage1", config.robust_epochs, lr, config.attacker, draws[2])
    stage1 = bench.measure(net)
    above = [
        _above(bench, net, stage1, layer, draw) for layer, draw in zip(config.layers, draws[3:], strict=True)
    ]
    features, drawn = _features(bench, above)
    clean = [each.clean for each in above]
    angles = layer_angles([each.start for each in above], clean, [each.robust for each in above])
    return FreezingResult(
        **provenance(config, images),
        **vars(angles),
        pairs_large=clean_pairs(clean).large,
        stage1=stage1,
        stage2=ScoreLists.of([each.stage2 for each in above]),
        stage3=ScoreLists.of([each.stage3 for each in above]),
        stage3_epochs=[each.stage3_epochs for each in above],
        frozen_tensors=[each.frozen_tensors for each in above],
        frozen_unchanged=[each.frozen_unchanged for each in above],
        features=features,
        feature_pictures=drawn,
    )


class _Above(NamedTuple):
    """What was trained above one layer: its filters over the stages, the scores, the frozen tensors below."""

    layer: str
    nets: dict[str, nn.Module]
    start: Tensor
    clean: Tensor
    robust: Tensor
    stage2: Scores
    stage3: Scores
    stage3_epochs: int
    frozen_tensors: int
    frozen_unchanged: bool


def _above(bench: Bench, robust: nn.Module, stage1: Scores, layer: str, generator: torch.Generator) -> _Above:
    """Stages 2 and 3 above one layer."""
    config = bench.config
    net, below = frozen_below(robust, layer, bench.images.network(config.network, generator))
    before = {name: tensor.clone() for name, tensor in below.items()}
    nets = {"start": copy.deepcopy(net)}
    start = filters(conv_layers(net)[layer])
    bench.train(net, f"stage2-{layer}", config.clean_epochs, config.lr, None, generator)
    stage2, clean = bench.measure(net), filters(conv_layers(net)[layer])
    nets["clean"] = copy.deepcopy(net)
    epochs = bench.train(
        net,
        f"stage3-{layer}",
        config.last_epochs,
        config.robust_lr,
        config.attacker,
        generator,
        goal=stage1 if config.stop else None,
    )
    stage3, last = bench.measure(net), filters(conv_layers(net)[layer])
    after = net.state_dict()
    unchanged = all(torch.equal(tensor, after[name].cpu()) for name, tensor in before.items())
    nets["robust"] = net
    return _Above(layer, nets, start, clean, last, stage2, stage3, epochs, len(before), unchanged)


def _features(
    bench: Bench, above: Sequence[_Above]
) -> tuple[dict[str, FeatureMeasures], dict[str, Quantised]]:
    """Draw the channels whose clean filters are longest, at all three moments of every layer."""
    config, shape = bench.config, tuple(bench.images.x.shape[1:])
    features: dict[str, FeatureMeasures] = {}
    drawn: dict[str, Quantised] = {}
    for each in above:
        # The first of the nets chooses the channels.
        nets = {name: each.nets[name].cpu() for name in ("clean", "start", "robust")}
        measures, pictures = feature_pictures(
            nets, [each.layer], config.channels, shape, config.ascent, seed=0
        )
        features |= measures
        drawn |= {name: quantise(picture) for name, picture in pictures.items()}
    return features, drawn


_HERE = source_or_digits("cifar10")
# AlexNet has no norms and does not leave its plateau on a few thousand digits; a small ResNet does.
_BASE = FreezingConfig(
    network="alexnet:0.25" if _HERE == "cifar10" else "resnet:4",
    source=_HERE,
    n=None if _HERE == "cifar10" else 3000,
    warm_epochs=16 if _HERE == "cifar10" else 6,
    robust_epochs=5,
    clean_epochs=16 if _HERE == "cifar10" else 6,
    last_epochs=3,
    lr=0.1,
    robust_lr=0.02,
    weight_decay=5e-3,
    batch_size=64,
    attacker="l2:1" if _HERE == "cifar10" else "l2:2",
    layers=(
        ("conv1", "conv2", "conv4")
        if _HERE == "cifar10"
        else ("stem", "stages.1.0.first", "stages.3.0.first")
    ),
    attacked=400,
    restarts=2,
)

_WEAKER = {"attacker": "l2:0.5" if _HERE == "cifar10" else "l2:1", "layers": _BASE.layers[-1:]}
"""Half the radius, at the last of the layers."""

FREEZING = Experiment(
    name=NAME,
    title="Are robust lower layers enough? Upper layers trained clean, then adversarially, above frozen ones",
    paper="purification",
    part="images",
    presets={
        "tiny": Preset(
            config=replace(
                _BASE,
                network="resnet:2",
                source="digits",
                n=100,
                test=60,
                attacked=20,
                warm_epochs=0,
                robust_epochs=1,
                clean_epochs=1,
                last_epochs=1,
                batch_size=50,
                steps=5,
                restarts=1,
                attacker="l2:2@1",
                layers=("stem", "stages.2.0.first"),
                ascent_steps=3,
                channels=3,
            ),
            points=({}, {"attacker": "l2:1@1", "layers": ("stages.2.0.first",)}),
            seeds=1,
            cell_seconds=2,
        ),
        "quick": Preset(config=_BASE, points=({}, _WEAKER), seeds=2, cell_seconds=100),
        "full": Preset(
            config=replace(
                _BASE,
                network="wrn:34:1",
                source="cifar10",
                n=None,
                warm_epochs=0,
                robust_epochs=50,
                clean_epochs=50,
                last_epochs=50,
                lr=0.1,
                robust_lr=0.1,
                weight_decay=1e-4,
                batch_size=128,
                attack_warmup=10,
                schedule="steps",
                milestones=(40,),
                attacker="l2:1:0.25",
                attacked=1000,
                stop=True,
                paper_ascent=True,
                layers=(
                    "stem",
                    "stages.0.3.second",
                    "stages.1.0.second",
                    "stages.1.2.second",
                    "stages.1.3.second",
                    "stages.1.4.second",
                    "stages.2.0.second",
                    "stages.2.1.second",
                    LAYER_27,
                    "stages.2.3.second",
                ),
            ),
            # Figures 2 and 11 at the attacker that the paper mostly uses, Figure 13 at the others as well.
            points=(
                {},
                *(
                    {"attacker": attacker, "layers": (LAYER_27,)}
                    for attacker in ("linf:4", "linf:8", "l2:0.5:0.12")
                ),
            ),
            seeds=3,
            cell_seconds=500_000,
        ),
    },
    run=run,
)
