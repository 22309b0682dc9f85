"""Three stages: robust lower layers are frozen, the upper ones trained clean and then adversarially."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from karat.core.ranges import Count, Steps
from karat.nets.image_net import conv_layers, filters, modules_before
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.image_setting import (
    ImageResult,
    Images,
    ImageSetting,
    ScoreLists,
    Scores,
    all_scores,
    checkpoint_file,
    load,
    provenance,
    source_or_digits,
)
from karat.papers.purification.experiments.layer_angles import LayerAngles, clean_pairs, layer_angles
from karat.study.experiment import Experiment, Preset
from karat.training.images.attackers import named_attacker

NAME = "purification.freezing"


@dataclass(frozen=True, kw_only=True)
class FreezingConfig(ImageSetting):
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

    Reading: frozen means weights, biases, norms and their running statistics, bit for bit. The paper's stage
        1 starts from random weights (`warm_epochs` 0); at reduced sizes that leaves a net which has learned
        too little to be called robust, and by Remark 8.1 the start does not matter.
    """

    attacker: str
    layers: tuple[str, ...]
    last_epochs: Count
    warm_epochs: Steps = 0
    stop: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        named_attacker(self.attacker)
        if not self.layers:
            raise ValueError(f"`layers` of `{type(self).__name__}` must name at least one convolution.")


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
    """

    stage1: Scores
    stage2: ScoreLists
    stage3: ScoreLists
    stage3_epochs: list[int]
    frozen_tensors: list[int]
    frozen_unchanged: list[bool]
    pairs_large: list[float]


def run(config: FreezingConfig, generator: torch.Generator) -> FreezingResult:
    """Train a robust net, then train and measure what is drawn anew above each of the layers."""
    draws = split(generator, 3 + len(config.layers))
    images = load(config, draws[0])
    net = images.network(config.network, draws[1])
    bench = _Bench(config, images, generator)
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
    )


class _Above(NamedTuple):
    """What was trained above one layer: its filters over the stages, the scores, the frozen tensors below."""

    start: Tensor
    clean: Tensor
    robust: Tensor
    stage2: Scores
    stage3: Scores
    stage3_epochs: int
    frozen_tensors: int
    frozen_unchanged: bool


def _above(
    bench: "_Bench", robust: nn.Module, stage1: Scores, layer: str, generator: torch.Generator
) -> _Above:
    """Stages 2 and 3 above one layer."""
    config = bench.config
    net, below = frozen_below(robust, layer, bench.images.network(config.network, generator))
    before = {name: tensor.clone() for name, tensor in below.items()}
    start = filters(conv_layers(net)[layer])
    bench.train(net, f"stage2-{layer}", config.clean_epochs, config.lr, None, generator)
    stage2, clean = bench.measure(net), filters(conv_layers(net)[layer])
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
    return _Above(start, clean, last, stage2, stage3, epochs, len(before), unchanged)


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
class _Bench:
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
        """Train in place, with draws of its own; return the epochs, fewer if the goal ended it."""

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
        """Whether the accuracies, clean and under the training attacker, are at least those of the goal."""
        scores = self.measure(net)
        return scores.accuracy >= goal.accuracy and scores.attacker >= goal.attacker

    def measure(self, net: nn.Module) -> Scores:
        """Clean, attacker and strong accuracy."""
        draw = torch.Generator().manual_seed(0)  # the same noise and starts for every net
        return all_scores(net, self.images, self.config.attacker, self.config, draw)


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
            ),
            seeds=1,
            cell_seconds=3,
        ),
        "quick": Preset(config=_BASE, seeds=1, cell_seconds=200),
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
                layers=(
                    "stem",
                    "stages.0.3.second",
                    "stages.1.0.second",
                    "stages.1.2.second",
                    "stages.1.3.second",
                    "stages.1.4.second",
                    "stages.2.0.second",
                    "stages.2.1.second",
                    "stages.2.2.second",
                    "stages.2.3.second",
                ),
            ),
            seeds=3,
            cell_seconds=500_000,
        ),
    },
    run=run,
)
