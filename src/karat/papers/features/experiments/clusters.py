"""Neurons of a two-layer net on real images: do their weights form clusters?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.activations import ACTIVATIONS
from karat.core.losses import Hinge
from karat.core.ranges import Count, Positive, Share, Steps, settings
from karat.data.images import available, load_images
from karat.data.normaliser import Normaliser
from karat.nets import TwoLayer
from karat.papers.features.experiments.pictures import planar_picture
from karat.probes.alignment import cluster_cosines, cluster_count
from karat.study.experiment import Experiment, Preset
from karat.training import Constant, Trainer


@dataclass(frozen=True, kw_only=True)
@settings
class ClustersConfig:
    """Settings of one run on classes 0 and 1 of an image set.

    Args:
        source: image set.
        clusters: how many the neurons are split into.
        m: neurons.
        init_scale: sd of the hidden weights. Reading: the paper says "random Gaussian"; clusters depend on
            it, so it is an axis.
        sd_a: sd of the output weights.
        epochs: of hinge SGD.
        lr: of hinge SGD.
        momentum: of hinge SGD.
        batch_size: of hinge SGD.
        activation: of the neurons.
        n: images used at most, 0 for all.
        pictures: whether directions are kept.
    """

    source: Literal["digits", "mnist", "cifar10_pair", "svhn_pair"]
    clusters: Count = 2
    m: Count = 50
    init_scale: Positive = 0.01
    sd_a: Positive = 0.3
    epochs: Count = 3
    lr: Positive = 0.1
    momentum: Share = 0.95
    batch_size: Count = 128
    activation: Literal["relu", "truncated_relu"] = "truncated_relu"
    n: Steps = 0
    pictures: bool = True


@dataclass(frozen=True, kw_only=True)
class ClustersResult:
    """Clusters of the neurons' weights at a few steps of training.

    Args:
        steps: at which the weights were looked at.
        inside: mean cosine to the own centre, at every step.
        between: smallest cosine of two centres, at every step.
        test: accuracy at the end.
        final_inside: the last of `inside`.
        final_between: the last of `between`.
        best_count: number of clusters of largest silhouette at the end.
        largest_between: largest cosine of two centres at the end.
        dead: share of neurons of length zero at the end.
        pictures: the neurons in the plane at every step, if they were asked for.
        signs: of the output weights at the end, kept with the pictures.
    """

    steps: list[int]
    inside: list[float]
    between: list[float]
    test: float
    final_inside: float
    final_between: float
    best_count: int
    largest_between: float
    dead: float
    pictures: list[list[list[float]]] | None = None
    signs: list[float] | None = None


@dataclass(frozen=True, kw_only=True)
class _Look:
    """The neurons at one step."""

    inside: float
    between: list[float]
    count: int
    test: float
    points: list[list[float]]


def load_pair(source: str, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return train and test images of classes 0 and 1 as normalised rows, labels -1 and +1, shuffled.

    Args:
        source: image set.
        n: training images at most, 0 for all.
        generator: shuffles them.
    """
    (x, y), (x_test, y_test) = (load_images(source, train=train, classes=2) for train in (True, False))
    order = torch.randperm(len(x), generator=generator)
    order = order[:n] if n else order
    rows, rows_test = x[order].flatten(1), x_test.flatten(1)
    normaliser = Normaliser.fit(rows)
    return normaliser(rows), y[order] * 2.0 - 1, normaliser(rows_test), y_test * 2.0 - 1


def run(config: ClustersConfig, generator: torch.Generator) -> ClustersResult:
    """Train; cosines inside and between clusters of the weights, and pictures, at a few steps.

    Args:
        config: settings of the run.
        generator: draws images, start and batches.
    """
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
    looked_at = sorted({0, min(10, steps), min(50, steps), steps})
    cluster_seed = int(torch.randint(2**62, (), generator=generator))

    def observe(step: int, state: TwoLayer) -> dict[str, Any]:
        # Every look starts the clustering from the same seed: differences between steps are not its noise.
        clustering = torch.Generator().manual_seed(cluster_seed)
        inside, between = cluster_cosines(state.W, config.clusters, generator=clustering)
        return {
            "inside": sum(inside) / len(inside),
            "between": between,
            "count": cluster_count(state.W, generator=clustering),
            "test": float((state(x_test) * y_test > 0).double().mean()),
            "points": planar_picture(state.W).points if config.pictures else [],
        }

    run = trainer.run(net, x, y, steps=steps, generator=generator, observe=observe, observe_at=looked_at)
    looks = {step: _Look(**seen) for step, seen in run.measurements}
    return _result(config, run.net, looks)


def _result(config: ClustersConfig, net: TwoLayer, looks_at: Mapping[int, _Look]) -> ClustersResult:
    looks = list(looks_at.values())
    last = looks[-1]
    # A single cluster has no other centre: its cosine to itself stands in.
    between = [min(look.between, default=1.0) for look in looks]
    return ClustersResult(
        steps=list(looks_at),
        inside=[look.inside for look in looks],
        between=between,
        test=last.test,
        final_inside=last.inside,
        final_between=between[-1],
        best_count=last.count,
        largest_between=max(last.between, default=1.0),
        dead=float((torch.linalg.vector_norm(net.W, dim=1) == 0).double().mean()),
        pictures=[look.points for look in looks] if config.pictures else None,
        signs=net.a.sign().tolist() if config.pictures else None,
    )


def _sources() -> tuple[dict[str, Any], ...]:
    """Image sets that are here: full MNIST instead of the embedded digits where KARAT_DATA has it."""
    points: list[dict[str, Any]] = [{"source": "mnist" if available("mnist") else "digits"}]
    points.append(points[0] | {"init_scale": 0.1})
    if available("cifar10_pair"):
        points.append({"source": "cifar10_pair"})
    if available("svhn_pair"):
        points.append({"source": "svhn_pair", "clusters": 4, "epochs": 10})
    return tuple(points)


_BASE = ClustersConfig(source="digits")

IMAGES = Experiment(
    name="features.images",
    title="Do the neurons of a two-layer net on real images form clusters?",
    paper="features",
    presets={
        "tiny": Preset(config=replace(_BASE, m=10, n=300, epochs=4), seeds=2, cell_seconds=0.5),
        "quick": Preset(config=_BASE, points=_sources(), seeds=3, cell_seconds=0.13),
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
