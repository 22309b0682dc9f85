"""Three stages: robust lower layers are frozen, the upper ones trained clean and then adversarially."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer
from karat.nets.image_net import conv_layers, filters, modules_before
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
from karat.probes.cosines import Cosines, chance_cosine, cosines_between, pairwise_cosines
from karat.probes.live_rows import live_filters
from karat.study.experiment import Experiment, Preset
from karat.training.images.attackers import named_attacker

NAME = "purification.freezing"


@dataclass(frozen=True, kw_only=True)
class Config(ImageSetting):
    """Settings of one run: T epochs per stage are `robust_epochs`, `clean_epochs` and `last_epochs`.

    Args:
        attacker: by name.
        layers: convolutions l; below each everything is frozen at the net of stage 1, from it on everything
            is drawn anew. The first convolution freezes nothing: clean training from scratch, the reference
            of the others.
        warm_epochs: of clean training before stage 1.

    Reading: frozen means weights, biases, norms and their running statistics, bit for bit. The paper's stage
        1 starts from random weights (`warm_epochs` 0); at reduced sizes that leaves a net which has learned
        too little to be called robust, and by Remark 8.1 the start does not matter. Stage 3 runs all of
        `last_epochs`; footnote 17 stops it once the accuracies of stage 1 are back.
    """

    attacker: str
    layers: tuple[str, ...]
    last_epochs: int
    warm_epochs: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        named_attacker(self.attacker)
        require_integer(self.last_epochs, "last_epochs", "Config", minimum=1)
        require_integer(self.warm_epochs, "warm_epochs", "Config", minimum=0)
        if not self.layers:
            raise ValueError("`layers` of `Config` must name at least one convolution.")


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Scores after each stage and the angles of layer l, as lists over the layers."""
    draws = split(generator, 3 + len(config.layers))
    images = load(config, draws[0])
    net = images.network(config.network, draws[1])
    bench = _Bench(config, images, generator)
    known = conv_layers(net)
    for layer in config.layers:
        if layer not in known:
            raise ValueError(f"`layers` of `Config` must be among {', '.join(known)}; got {layer!r}.")
    if config.warm_epochs:
        bench.train(net, "stage0", config.warm_epochs, config.lr, None, draws[2])
    lr = config.robust_lr if config.warm_epochs else config.lr
    bench.train(net, "stage1", config.robust_epochs, lr, config.attacker, draws[2])
    values = provenance(config, images) | {f"stage1_{k}": v for k, v in bench.measure(net).items()}
    rows = [_stages(bench, net, layer, draw) for layer, draw in zip(config.layers, draws[3:], strict=True)]
    return values | {name: [row[name] for row in rows] for name in rows[0]}


def _stages(bench: "_Bench", robust: nn.Module, layer: str, generator: torch.Generator) -> dict[str, Any]:
    """Stages 2 and 3 above one layer."""
    config = bench.config
    net, below = frozen_below(robust, layer, bench.images.network(config.network, generator))
    kept = {name: tensor.clone() for name, tensor in below.items()}
    first = filters(conv_layers(net)[layer])
    bench.train(net, f"stage2-{layer}", config.clean_epochs, config.lr, None, generator)
    row = {f"stage2_{name}": value for name, value in bench.measure(net).items()}
    clean = filters(conv_layers(net)[layer])
    bench.train(net, f"stage3-{layer}", config.last_epochs, config.robust_lr, config.attacker, generator)
    row |= {f"stage3_{name}": value for name, value in bench.measure(net).items()}
    last = filters(conv_layers(net)[layer])
    now = net.state_dict()
    row["frozen_tensors"] = len(kept)
    row["frozen_unchanged"] = all(torch.equal(tensor, now[name].cpu()) for name, tensor in kept.items())
    live = live_filters(clean)
    row |= {"chance": chance_cosine(clean.shape[1]), "live": int(live.sum()), "filters": len(clean)}
    for name, angles in {
        "start_clean": cosines_between(first, clean, live),
        "start_robust": cosines_between(first, last, live),
        "clean_robust": cosines_between(clean, last, live),
        "pairs": pairwise_cosines(clean, live),
    }.items():
        row |= _angle_values(name, angles)
    return row


def frozen_below(robust: nn.Module, layer: str, fresh: nn.Module) -> tuple[nn.Module, dict[str, Tensor]]:
    """A fresh net whose parts below a convolution are those of `robust`, frozen; and the frozen tensors.

    Ref: purification, Sec 8.2
    """
    names = modules_before(robust, layer)
    for name in names:
        part = fresh.get_submodule(name)
        part.load_state_dict(robust.get_submodule(name).state_dict())
        part.requires_grad_(False)
    prefixes = tuple(f"{name}." for name in names)
    below = {name: t for name, t in fresh.state_dict().items() if prefixes and name.startswith(prefixes)}
    return fresh, below


@dataclass(frozen=True)
class _Bench:
    config: Config
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
    ) -> None:
        """Train in place, with draws of its own."""
        self.config.plan(epochs, lr, attacker).run(
            net,
            self.images.x,
            self.images.labels,
            generator=split(generator, 1)[0],
            checkpoint=checkpoint_file(NAME, self.config, self.cell, stage),
        )

    def measure(self, net: nn.Module) -> dict[str, float]:
        """Clean, attacker and strong accuracy."""
        draw = torch.Generator().manual_seed(0)  # the same noise and starts for every net
        found = scores(net, self.images, self.config.attacker, self.config, draw)
        return {"accuracy": clean_score(net, self.images)} | found


def _angle_values(name: str, angles: Cosines) -> dict[str, float]:
    return {name: angles.mean, f"{name}_small": angles.small, f"{name}_large": angles.large}


_HERE = source_or_digits("cifar10")
# AlexNet has no norms and does not leave its plateau on a few thousand digits; a small ResNet does.
_BASE = Config(
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
