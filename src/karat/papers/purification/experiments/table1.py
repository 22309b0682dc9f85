"""Robust and clean accuracy after clean training, adversarial training from two starts, and noise alone."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, TypeVar

import torch
from torch import nn

from karat.core.ranges import Count, Steps
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.image_setting import (
    CERTIFIED_AT,
    ImageResult,
    Images,
    ImageSetting,
    ScoreLists,
    Scores,
    all_scores,
    certified,
    checkpoint_file,
    load,
    provenance,
    source_or_digits,
)
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined
from karat.training.images.attackers import named_attacker

NAME = "purification.table1"
TRAININGS = ("clean", "from_clean", "from_random", "noise")
"""Trainings: on images; on attacked images from the clean net or from random weights; on noisy images."""


@dataclass(frozen=True, kw_only=True)
class Table1Config(ImageSetting):
    """Settings of one column group of the table: a network and the attackers it meets.

    Args:
        attackers: by name.
        train_steps: of their ascent during training, their own when None.
        from_random: whether adversarial training from random weights is run too.
        random_epochs: its length, `robust_epochs` when None.
        noise_control: whether the attackers with noise get a control trained on that noise alone.
        certify: test images of the smoothing certificates, 0 for none.
        votes: noise draws of the smoothing certificates.

    Reading: at full size both starts get the same adversarial epochs, as in the paper, and the clean start
        has its clean epochs on top. At reduced sizes a random start needs more of them to leave its plateau.
        From random weights the rate is that of clean training.
    """

    attackers: tuple[str, ...]
    train_steps: Count | None = None
    from_random: bool = True
    random_epochs: Count | None = None
    noise_control: bool = True
    certify: Steps = 0
    votes: Count = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.attackers:
            owner = type(self).__name__
            raise ValueError(f"`attackers` of `{owner}` must name at least one attacker.")
        for name in self.attackers:
            named_attacker(name)

    def trained_against(self, attacker: str) -> str:
        """Return the attacker of training: as named, or with fewer steps."""
        return attacker if self.train_steps is None else f"{attacker.partition('@')[0]}@{self.train_steps}"


@dataclass(frozen=True, kw_only=True)
class Trained(ScoreLists):
    """One kind of training, measured against every attacker.

    Args:
        certified: per attacker, certified accuracy of the smoothed net at each of the radii; empty without
            noise.
    """

    certified: list[list[float]]


_NO_NOISE = Undefined("the attacker has no noise to train with")


@dataclass(frozen=True, kw_only=True)
class TrainedOnNoise(Trained):
    """The control, which there is for attackers with noise only.

    Args:
        accuracy: as in `Scores`.
        attacker: as in `Scores`.
        strong: as in `Scores`.
    """

    accuracy: Annotated[list[float], _NO_NOISE]
    attacker: Annotated[list[float], _NO_NOISE]
    strong: Annotated[list[float], _NO_NOISE]


@dataclass(frozen=True, kw_only=True)
class Table1Result(ImageResult):
    """Every training against every attacker of the config.

    Args:
        radii: of the certificates.
        clean: after clean training.
        from_clean: after adversarial training of the clean net.
        from_random: after adversarial training from random weights.
        noise: after training of the clean net on noisy images.
    """

    radii: list[float]
    clean: Trained
    from_clean: Trained
    from_random: Trained | None = None
    noise: TrainedOnNoise | None = None

    @property
    def trainings(self) -> dict[str, Trained]:
        """The trainings that were run, by their name in `TRAININGS`."""
        every = zip(TRAININGS, (self.clean, self.from_clean, self.from_random, self.noise), strict=True)
        return {mode: trained for mode, trained in every if trained is not None}


def run(config: Table1Config, generator: torch.Generator) -> Table1Result:
    """Train every net of the table and measure each against every attacker."""
    draws = split(generator, 6)
    images = load(config, draws[0])
    start = images.network(config.network, draws[1])
    bench = _Bench(config, images, generator, draws[2])
    clean = bench.train(start, "clean", config.clean_epochs, config.lr, None)
    rows: dict[str, list[_Row]] = {mode: [] for mode in TRAININGS}
    on_noise: dict[float, nn.Module] = {}
    for attacker in config.attackers:
        sigma, trainer = named_attacker(attacker).sigma, config.trained_against(attacker)
        nets: dict[str, nn.Module | None] = {"clean": clean}
        nets["from_clean"] = bench.train(
            clean, f"from_clean-{attacker}", config.robust_epochs, config.robust_lr, trainer
        )
        if config.from_random:
            epochs = config.random_epochs or config.robust_epochs
            nets["from_random"] = bench.train(start, f"from_random-{attacker}", epochs, config.lr, trainer)
        if config.noise_control:
            # Attackers of one noise level share their control.
            if sigma > 0 and sigma not in on_noise:
                name = f"noise:{sigma:g}"
                on_noise[sigma] = bench.train(clean, name, config.robust_epochs, config.robust_lr, name)
            nets["noise"] = on_noise.get(sigma)
        for mode, net in nets.items():
            rows[mode].append(bench.measure(net, attacker))
    return Table1Result(
        **provenance(config, images),
        radii=list(CERTIFIED_AT),
        clean=_columns(Trained, rows["clean"]),
        from_clean=_columns(Trained, rows["from_clean"]),
        from_random=_columns(Trained, rows["from_random"]) if config.from_random else None,
        noise=_columns(TrainedOnNoise, rows["noise"]) if config.noise_control else None,
    )


class _Row(NamedTuple):
    """One net against one attacker."""

    scores: Scores
    certified: list[float]


_NOTHING = _Row(Scores(accuracy=math.nan, attacker=math.nan, strong=math.nan), [])
T = TypeVar("T", bound=Trained)


def _columns(kind: type[T], rows: Sequence[_Row]) -> T:
    """Lists over the attackers."""
    return kind(
        **vars(ScoreLists.of([row.scores for row in rows])),
        certified=[row.certified for row in rows],
    )


@dataclass(frozen=True)
class _Bench:
    """Trains copies of nets and measures them, each stage with draws and a checkpoint of its own."""

    config: Table1Config
    images: Images
    cell: torch.Generator
    draws: torch.Generator

    def train(self, start: nn.Module, stage: str, epochs: int, lr: float, attacker: str | None) -> nn.Module:
        """Return a trained copy of a net."""
        net, images = copy.deepcopy(start), self.images
        self.config.plan(epochs, lr, attacker).run(
            net,
            images.x,
            images.labels,
            generator=split(self.draws, 1)[0],
            checkpoint=checkpoint_file(NAME, self.config, self.cell, stage),
        )
        return net

    def measure(self, net: nn.Module | None, attacker: str) -> _Row:
        """Return all accuracies of a net against one attacker; NaN without a net."""
        if net is None:
            return _NOTHING
        config, images, named = self.config, self.images, named_attacker(attacker)
        draw = torch.Generator().manual_seed(0)  # the same noise and starts for every net
        scores = all_scores(net, images, attacker, config, draw)
        certifiable = config.certify and named.sigma > 0
        shares = certified(net, images, named, config.certify, config.votes, draw) if certifiable else []
        return _Row(scores, shares)


_PAIR, _TEN = source_or_digits("cifar10_pair"), source_or_digits("cifar10")
_HERE = _TEN == "cifar10"
# AlexNet has no norms and does not leave its plateau on a few thousand digits; a small ResNet does.
_ALEXNET = Table1Config(
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
    "n": 4000 if _PAIR == "cifar10_pair" else 2000,
    "clean_epochs": 10,
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
        "quick": Preset(config=_ALEXNET, points=({}, _WEAKER, _RESNET), seeds=2, cell_seconds=150),
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
                # All test images: with a thousand of them no share is known to two points.
                attacked=10_000,
                certify=500,
                votes=10_000,
            ),
            seeds=3,
            cell_seconds=1_000_000,
        ),
    },
    run=run,
)
