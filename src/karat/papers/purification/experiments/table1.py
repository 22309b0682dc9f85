"""Robust and clean accuracy after clean training, adversarial training from two starts, and noise alone."""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from karat.core.checks import require_integer
from karat.nets.image_net import layer_filters
from karat.papers.purification.experiments.image_setting import (
    CERTIFIED_AT,
    Images,
    ImageSetting,
    certified,
    checkpoint_file,
    clean_score,
    load,
    provenance,
    scores,
    source_or_digits,
)
from karat.papers.purification.experiments.regime import split
from karat.probes.cosines import cosines_between
from karat.probes.live_rows import live_filters
from karat.study.experiment import Experiment, Preset
from karat.training.images.attackers import named_attacker

NAME = "purification.table1"
MODES = ("clean", "from_clean", "from_random", "noise")
"""Trainings: on images; on attacked images from the clean net or from random weights; on noisy images."""


@dataclass(frozen=True, kw_only=True)
class Config(ImageSetting):
    """Settings of one column group of the table: a network and the attackers it meets.

    Args:
        attackers: by name.
        train_steps: of their ascent during training, their own when None.
        from_random: whether adversarial training from random weights is run too.
        random_epochs: its length, `robust_epochs` when None.
        noise_control: whether the attackers with noise get a control trained on that noise alone.
        certify, votes: test images and noise draws of the smoothing certificates, 0 for none.

    Reading: at full size both starts get the same adversarial epochs, as in the paper, and the clean start
        has its clean epochs on top. At reduced sizes a random start needs more of them to leave its plateau.
        From random weights the rate is that of clean training.
    """

    attackers: tuple[str, ...]
    train_steps: int | None = None
    from_random: bool = True
    random_epochs: int | None = None
    noise_control: bool = True
    certify: int = 0
    votes: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.certify, "certify", "Config", minimum=0)
        require_integer(self.votes, "votes", "Config", minimum=1)
        for name in ("train_steps", "random_epochs"):
            if getattr(self, name) is not None:
                require_integer(getattr(self, name), name, "Config", minimum=1)
        if not self.attackers:
            raise ValueError("`attackers` of `Config` must name at least one attacker.")
        for name in self.attackers:
            named_attacker(name)

    def trained_against(self, attacker: str) -> str:
        """The attacker of training: as named, or with fewer steps."""
        return attacker if self.train_steps is None else f"{attacker.partition('@')[0]}@{self.train_steps}"

    @property
    def modes(self) -> tuple[str, ...]:
        """The trainings that are run."""
        wanted = {"from_random": self.from_random, "noise": self.noise_control}
        return tuple(mode for mode in MODES if wanted.get(mode, True))


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Lists over the attackers for every training: clean, attacker, strong and certified accuracy."""
    draws = split(generator, 6)
    images = load(config, draws[0])
    start = images.network(config.network, draws[1])
    bench = _Bench(config, images, generator, draws[2])
    clean = bench.train(start, "clean", config.clean_epochs, config.lr, None)
    values = provenance(config, images) | {"layers": list(layer_filters(clean)), "radii": CERTIFIED_AT}
    rows: dict[str, list[dict[str, Any]]] = {mode: [] for mode in config.modes}
    noisy: dict[float, nn.Module] = {}
    for attacker in config.attackers:
        named, trainer = named_attacker(attacker), config.trained_against(attacker)
        nets: dict[str, nn.Module | None] = {"clean": clean}
        nets["from_clean"] = bench.train(
            clean, f"from_clean-{attacker}", config.robust_epochs, config.robust_lr, trainer
        )
        if config.from_random:
            nets["from_random"] = bench.train(
                start,
                f"from_random-{attacker}",
                config.random_epochs or config.robust_epochs,
                config.lr,
                trainer,
            )
        if config.noise_control:
            if named.sigma > 0 and named.sigma not in noisy:
                name = f"noise:{named.sigma:g}"
                noisy[named.sigma] = bench.train(clean, name, config.robust_epochs, config.robust_lr, name)
            nets["noise"] = noisy.get(named.sigma)
        for mode, net in nets.items():
            rows[mode].append(bench.measure(net, clean, attacker))
    for mode, found in rows.items():
        values |= {f"{mode}_{name}": [row[name] for row in found] for name in found[0]}
    return values


@dataclass(frozen=True)
class _Bench:
    """Trains copies of nets and measures them, each stage with draws and a checkpoint of its own."""

    config: Config
    images: Images
    cell: torch.Generator
    draws: torch.Generator

    def train(self, start: nn.Module, stage: str, epochs: int, lr: float, attacker: str | None) -> nn.Module:
        """A trained copy of a net."""
        net, images = copy.deepcopy(start), self.images
        self.config.plan(epochs, lr, attacker).run(
            net,
            images.x,
            images.labels,
            generator=split(self.draws, 1)[0],
            checkpoint=checkpoint_file(NAME, self.config, self.cell, stage),
        )
        return net

    def measure(self, net: nn.Module | None, clean: nn.Module, attacker: str) -> dict[str, Any]:
        """All accuracies of a net against one attacker, and the turn of its filters; NaN without a net."""
        config, images, named = self.config, self.images, named_attacker(attacker)
        if net is None:
            return dict.fromkeys(("accuracy", "attacker", "strong"), math.nan) | {
                "certified": [],
                "theta": [],
            }
        draw = torch.Generator().manual_seed(0)  # the same noise and starts for every net
        row: dict[str, Any] = {"accuracy": clean_score(net, images)}
        row |= scores(net, images, attacker, config, draw)
        row["certified"] = (
            certified(net, images, named, config.certify, config.votes, draw)
            if config.certify and named.sigma > 0
            else []
        )
        before, after = layer_filters(clean), layer_filters(net)
        row["theta"] = [
            cosines_between(before[name], after[name], live_filters(before[name])).mean for name in before
        ]
        return row


_PAIR, _TEN = source_or_digits("cifar10_pair"), source_or_digits("cifar10")
_HERE = _TEN == "cifar10"
# AlexNet has no norms and does not leave its plateau on a few thousand digits; a small ResNet does.
_ALEXNET = Config(
    network="alexnet:0.25" if _HERE else "resnet:4",
    source=_TEN,
    n=None,
    clean_epochs=24 if _HERE else 6,
    robust_epochs=4,
    lr=0.05,
    robust_lr=0.02,
    weight_decay=5e-4,
    batch_size=64,
    attacked=400,
    train_steps=3,
    random_epochs=6,
    attackers=("linf:8", "l2:1:0.25") if _HERE else ("linf:51", "l2:2:0.25"),
    certify=40,
    votes=600,
)
_RESNET = {
    "network": "resnet:8",
    "source": _PAIR,
    "n": 5000 if _PAIR == "cifar10_pair" else 2000,
    "clean_epochs": 14,
    "robust_epochs": 3,
    "lr": 0.1,
    "robust_lr": 0.05,
    "weight_decay": 1e-4,
    "random_epochs": None,
    "attacked": 200,
    "steps": 30,
    "restarts": 2,
    "attackers": ("linf:8",) if _HERE else ("linf:51",),
    "noise_control": False,
    "certify": 0,
}
_WEAKER = {
    "attackers": ("linf:4", "l2:0.5:0.12") if _HERE else ("linf:25", "l2:1:0.12"),
    "from_random": False,
    "noise_control": False,
    "certify": 0,
}

TABLE1 = Experiment(
    name=NAME,
    title="How accurate are nets after clean and after adversarial training, clean and under attack?",
    paper="purification",
    part="images",
    presets={
        "tiny": Preset(
            config=replace(
                _ALEXNET,
                network="alexnet:0.05",
                source="digits",
                n=160,
                test=60,
                attacked=20,
                clean_epochs=2,
                robust_epochs=1,
                batch_size=50,
                steps=5,
                restarts=1,
                attackers=("linf:51", "l2:2:0.25"),
                train_steps=1,
                random_epochs=None,
                certify=5,
                votes=50,
            ),
            seeds=1,
            cell_seconds=3,
        ),
        "quick": Preset(config=_ALEXNET, points=({}, _WEAKER, _RESNET), seeds=1, cell_seconds=230),
        "full": Preset(
            config=replace(
                _ALEXNET,
                network="wrn:34:1",
                source="cifar10",
                clean_epochs=164,
                robust_epochs=164,
                lr=0.1,
                robust_lr=0.1,
                weight_decay=1e-4,
                batch_size=128,
                attack_warmup=10,
                schedule="steps",
                milestones=(81, 122),
                attackers=("linf:4", "linf:8", "l2:0.5:0.12", "l2:1:0.25"),
                train_steps=None,
                random_epochs=None,
                attacked=1000,
                certify=500,
                votes=10_000,
            ),
            seeds=3,
            cell_seconds=1_000_000,
        ),
    },
    run=run,
    undefined=dict.fromkeys(
        ("noise_accuracy", "noise_attacker", "noise_strong"), "the attacker has no noise to train with"
    ),
)
