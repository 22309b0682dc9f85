"""Neurons of a two-layer net on real images: do their weights form clusters?"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.activations import ACTIVATIONS
from karat.core.checks import require_integer, require_number, require_settings
from karat.core.losses import Hinge
from karat.data.images import available, load_images
from karat.data.normaliser import Normaliser
from karat.nets import TwoLayer
from karat.probes.alignment import cluster_cosines, cluster_count
from karat.probes.mds import classical_mds
from karat.study.experiment import Experiment, Preset
from karat.training import Constant, Trainer


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run on classes 0 and 1 of an image set.

    Args:
        source: image set.
        clusters: how many the neurons are split into.
        m: neurons.
        init_scale: sd of the hidden weights. Reading: the paper says "random Gaussian"; clusters depend on
            it, so it is an axis.
        a: sd of the output weights.
        epochs, lr, momentum, batch_size: of hinge SGD.
        n: images used at most, 0 for all.
    """

    source: Literal["digits", "mnist", "cifar10_pair", "svhn_pair"]
    clusters: int = 2
    m: int = 50
    init_scale: float = 0.01
    sd_a: float = 0.3
    epochs: int = 3
    lr: float = 0.1
    momentum: float = 0.95
    batch_size: int = 128
    activation: Literal["relu", "truncated_relu"] = "truncated_relu"
    n: int = 0
    pictures: bool = True

    def __post_init__(self) -> None:
        for name in ("clusters", "m", "epochs", "batch_size"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_integer(self.n, "n", "Config", minimum=0)
        for name in ("init_scale", "sd_a", "lr"):
            require_number(getattr(self, name), name, "Config", positive=True)
        require_number(self.momentum, "momentum", "Config", minimum=0, maximum=1)
        require_settings(self)


def load_pair(source: str, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Train and test images of classes 0 and 1 as normalised rows, labels -1 and +1, shuffled."""
    (x, y), (x_test, y_test) = (load_images(source, train=part, classes=2) for part in (True, False))
    order = torch.randperm(len(x), generator=generator)
    order = order[:n] if n else order
    rows, rows_test = x[order].flatten(1), x_test.flatten(1)
    normaliser = Normaliser.fit(rows)
    return normaliser(rows), y[order] * 2.0 - 1, normaliser(rows_test), y_test * 2.0 - 1


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train; cosines inside and between clusters of the weights, and pictures, at a few steps."""
    x, y, x_test, y_test = load_pair(config.source, config.n, generator)
    net = TwoLayer(
        config.init_scale * torch.randn(config.m, x.shape[1], generator=generator),
        config.sd_a * torch.randn(config.m, generator=generator),
        torch.zeros(config.m),
        activation=ACTIVATIONS[config.activation](),
    )
    trainer = Trainer(
        lr=Constant(config.lr),
        trainable=("W", "a", "b"),
        loss=Hinge(),
        momentum=config.momentum,
        batch_size=config.batch_size,
    )
    steps = config.epochs * trainer.steps_per_epoch(len(x))
    places = sorted({0, min(10, steps), min(50, steps), steps})
    picture_seed = int(torch.randint(2**62, (), generator=generator))

    def observe(step: int, state: TwoLayer) -> dict[str, Any]:
        own = torch.Generator().manual_seed(picture_seed)
        inside, between = cluster_cosines(state.W, config.clusters, generator=own)
        measured = {"inside": sum(inside) / len(inside), "between": between}
        measured["count"] = cluster_count(state.W, generator=own)
        measured["test"] = float((state(x_test) * y_test > 0).double().mean())
        if config.pictures:
            points = classical_mds(state.W).points.tolist()
            measured["points"] = [[round(v, 4) for v in point] for point in points]
        return measured

    run = trainer.run(net, x, y, steps=steps, generator=generator, observe=observe, observe_at=places)
    return _values(run.net, run.measurements, config)


def _values(net: TwoLayer, measurements: Any, config: Config) -> dict[str, Any]:
    rows = [values for _, values in measurements]
    values: dict[str, Any] = {
        "steps": [step for step, _ in measurements],
        "inside": [row["inside"] for row in rows],
        "between": [min(row["between"], default=1.0) for row in rows],
        "test": rows[-1]["test"],
        "final_inside": rows[-1]["inside"],
        "final_between": min(rows[-1]["between"], default=1.0),
        "best_count": rows[-1]["count"],
        "largest_between": max(rows[-1]["between"], default=1.0),
        "dead": float((torch.linalg.vector_norm(net.W, dim=1) == 0).double().mean()),
    }
    if config.pictures:
        values["pictures"] = [row["points"] for row in rows]
        values["signs"] = net.a.sign().tolist()
    return values


def _sources() -> tuple[dict[str, Any], ...]:
    """Image sets that are here: full MNIST instead of the embedded digits where KARAT_DATA has it."""
    points: list[dict[str, Any]] = [{"source": "mnist" if available("mnist") else "digits"}]
    points.append(points[0] | {"init_scale": 0.1})
    if available("cifar10_pair"):
        points.append({"source": "cifar10_pair"})
    if available("svhn_pair"):
        points.append({"source": "svhn_pair", "clusters": 4, "epochs": 10})
    return tuple(points)


_BASE = Config(source="digits")

IMAGES = Experiment(
    name="features.images",
    title="Do the neurons of a two-layer net on real images form clusters?",
    paper="features",
    presets={
        "tiny": Preset(config=replace(_BASE, m=10, n=300, epochs=4), seeds=2, cell_seconds=0.5),
        "quick": Preset(config=_BASE, points=_sources(), seeds=2, cell_seconds=2),
        "full": Preset(
            config=replace(_BASE, epochs=10),
            points=_sources(),
            grid={"activation": ("truncated_relu", "relu")},
            seeds=5,
            cell_seconds=10,
        ),
    },
    run=run,
)
