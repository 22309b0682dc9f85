"""Filters of a residual network on two classes of images: do they cluster, and do early gradients agree?"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Interval
from torch import Tensor, nn

from karat.core.ranges import Count, Positive, settings
from karat.data.images import available
from karat.nets.convnets import ResNet
from karat.papers.features.experiments.teachers import load_originals, predictions
from karat.study.experiment import Experiment, Preset
from karat.study.result import Spread
from karat.training.images.classification import Classification

STAGES = 4
EARLY, TRUNK = 30, 10
"""Gradients of the first 30 steps are looked at, averaged over 10 steps each."""


@dataclass(frozen=True, kw_only=True)
@settings
class FiltersConfig:
    """Settings of one run.

    Args:
        source: images of classes 0 and 1.
        m: filters of the first stage.
        n: images.
        epochs: of SGD with momentum.
        early_epochs: when the weights are looked at first.
        lr: of SGD.
        batch_size: of SGD.
        side: resolution, None for that of the images.
        picked: share of the filters in each of the two clusters.
        labels: "permuted" ones of the training images no longer depend on them.

    Reading: the paper picks both clusters by hand in the picture of the last epoch. Here they are the filters
        at both ends of the leading principal direction at the end of training.
    """

    source: Literal["digits", "cifar10_pair"]
    m: Count
    n: Count
    epochs: Count = 20
    early_epochs: Count = 3
    lr: Positive = 0.05
    batch_size: Count = 100
    side: Annotated[int, Ge(8)] | None = None
    picked: Annotated[float, Interval(gt=0, le=0.5)] = 0.2
    labels: Literal["true", "permuted"] = "true"


ClusterCosines = tuple[float, float, float]
"""Mean cosine to the own centre in the green and in the red cluster, and the cosine of the two centres."""


@dataclass(frozen=True, kw_only=True)
class BlockTraining:
    """How the filters of a block came to where they are at the end.

    Args:
        start: cosines before training of the clusters that are picked at the end.
        early_move: mean 1 - cos of a filter from the start to the early look.
        late_move: the same from the early look to the end.
    """

    start: ClusterCosines
    early_move: float
    late_move: float


@dataclass(frozen=True, kw_only=True)
class FiltersResult:
    """Clusters of the filters in every block, and agreement of the first gradients.

    Args:
        test: accuracy.
        block1: cosines of the clusters at the end, first block.
        block2: the same in the second block.
        block3: the same in the third block.
        block4: the same in the fourth block.
        training: "block1", ..., "block4" -> how its filters got there.
        gradient_cosines: of the filter nearest to the green centre: mean gradients of steps 1-10, 11-20,
            21-30 to their mean (three numbers), then pairwise (1 and 2, 1 and 3, 2 and 3).
        gradient_cosines_mean: the same, mean over the filters of the last block.
    """

    test: float
    block1: ClusterCosines
    block2: ClusterCosines
    block3: ClusterCosines
    block4: ClusterCosines
    training: Annotated[dict[str, BlockTraining], Spread()]
    gradient_cosines: list[float]
    gradient_cosines_mean: list[float]

    @property
    def ends(self) -> tuple[ClusterCosines, ...]:
        """Cosines at the end, block by block."""
        return self.block1, self.block2, self.block3, self.block4


def run(config: FiltersConfig, generator: torch.Generator) -> FiltersResult:
    """Train; cluster cosines per stage, movement of filters, cosines of the mean gradients of early steps.

    Args:
        config: settings of the run.
        generator: draws images, start and batches.
    """
    data = load_originals(config.source, config.n, generator, flat=False, side=config.side)
    if config.labels == "permuted":
        data = replace(data, labels=data.labels[torch.randperm(len(data.labels), generator=generator)])
    net = ResNet(config.m, data.classes, generator=generator, channels=data.x.shape[1])
    per_epoch = max(1, len(data.x) // config.batch_size)
    steps = max(config.epochs * per_epoch, EARLY)
    early = min(config.early_epochs * per_epoch, steps)
    gradients: list[Tensor] = []
    last_layer = net.stages[STAGES - 1][-1].second.weight  # type: ignore[index]

    def keep(gradient: Tensor) -> None:
        if len(gradients) < EARLY:
            gradients.append(gradient.flatten(1).clone())

    handle = last_layer.register_hook(keep)
    plan = Classification(steps=steps, lr=config.lr, batch_size=config.batch_size, optimiser="sgd")

    def observe(step: int, module: nn.Module) -> list[Tensor]:
        return [net.filters(stage).detach().clone() for stage in range(STAGES)]

    observed = plan.run(
        net, data.x, data.labels, generator=generator, observe=observe, observe_at=(0, early, steps)
    )
    handle.remove()
    # Steps that coincide are observed once: a look-up by step finds them all the same.
    filters = dict(observed)
    right = predictions(net, data.x_test)[0] == data.labels_test
    stages = zip(filters[0], filters[early], filters[steps], strict=True)
    ends, training = zip(*(_block(*stage, config.picked) for stage in stages), strict=True)
    nearest, mean = _gradient_cosines(gradients, filters[steps][STAGES - 1], config.picked)
    return FiltersResult(
        test=float(right.double().mean()),
        block1=ends[0],
        block2=ends[1],
        block3=ends[2],
        block4=ends[3],
        training={f"block{number}": block for number, block in enumerate(training, start=1)},
        gradient_cosines=nearest,
        gradient_cosines_mean=mean,
    )


def picked_clusters(filters: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """Return the indices of the filters at both ends of the leading principal direction of the unit filters.

    Args:
        filters: (filters, weights of each).
        share: of the filters in each cluster, at least one.
    """
    unit = _unit(filters)
    axis = torch.linalg.svd(unit, full_matrices=False).Vh[0]
    order = (unit @ axis).argsort()
    count = max(1, round(share * len(order)))
    return order[:count], order[-count:]


def _block(start: Tensor, early: Tensor, end: Tensor, share: float) -> tuple[ClusterCosines, BlockTraining]:
    """The clusters that the filters of a block form at the end, and how they got there."""
    green, red = picked_clusters(end, share)
    training = BlockTraining(
        start=_cluster_cosines(start, green, red),
        early_move=_turn(start, early),
        late_move=_turn(early, end),
    )
    return _cluster_cosines(end, green, red), training


def _unit(v: Tensor) -> Tensor:
    return v.double() / torch.linalg.vector_norm(v.double(), dim=-1, keepdim=True).clamp_min(1e-300)


def _cluster_cosines(filters: Tensor, green: Tensor, red: Tensor) -> ClusterCosines:
    unit = _unit(filters)
    centres = [_unit(unit[members].mean(dim=0)) for members in (green, red)]
    inside = [float((unit[members] @ c).mean()) for members, c in zip((green, red), centres, strict=True)]
    return inside[0], inside[1], float(centres[0] @ centres[1])


def _turn(before: Tensor, after: Tensor) -> float:
    """Mean of 1 - cos between a filter before and after."""
    return float((1 - (_unit(before) * _unit(after)).sum(dim=1)).mean())


def _gradient_cosines(gradients: list[Tensor], end: Tensor, share: float) -> tuple[list[float], list[float]]:
    """Cosines of the mean gradients of steps 1-10, 11-20, 21-30, to their mean and to each other.

    Of the filter nearest to the green centre, which stands for the paper's "selected" one, and of all.

    Ref: features, Tab 7
    """
    trunks = torch.stack(gradients).double().unflatten(0, (-1, TRUNK)).mean(dim=1)
    green, _ = picked_clusters(end, share)
    centre = _unit(end)[green].mean(dim=0)
    nearest = int((_unit(end) @ centre).argmax())

    def cosines(v: Tensor) -> list[float]:
        unit, mean = _unit(v), _unit(v.mean(dim=0))
        pairs = [float(unit[i] @ unit[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        return [*(unit @ mean).tolist(), *pairs]

    table = [cosines(trunks[:, i]) for i in range(trunks.shape[1])]
    return table[nearest], [sum(column) / len(table) for column in zip(*table, strict=True)]


_HERE = available("cifar10_pair")
_BASE = FiltersConfig(
    source="cifar10_pair" if _HERE else "digits", m=8, n=1000, epochs=4, batch_size=50, side=16
)

FIG20 = Experiment(
    name="features.fig20",
    title="Do convolution filters cluster, and do the first gradients of a filter agree?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(
                _BASE, source="digits", m=2, n=60, epochs=1, early_epochs=1, batch_size=20, side=8
            ),
            seeds=2,
            cell_seconds=1,
        ),
        "quick": Preset(config=_BASE, seeds=1, cell_seconds=1.9),
        "full": Preset(
            config=replace(_BASE, n=10_000, epochs=20, batch_size=100, side=None),
            grid={"m": (128, 256)},
            seeds=3,
            cell_seconds=60_000,
        ),
    },
    run=run,
)
