"""Filters of a residual network on two classes of images: do they cluster, and do early gradients agree?"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer, require_number, require_settings
from karat.data.images import available
from karat.nets.convnets import ResNet
from karat.papers.features.experiments.teachers import load_originals, predictions
from karat.study.experiment import Experiment, Preset
from karat.training.images.classification import Classification

STAGES = 4
EARLY, TRUNK = 30, 10


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run.

    Args:
        source: images of classes 0 and 1.
        m: filters of the first stage.
        n: images.
        epochs, lr, batch_size: of SGD with momentum.
        early_epochs: when the weights are looked at first.
        side: resolution.
        picked: share of the filters in each of the two clusters.

    Reading: the paper picks both clusters by hand in the picture of the last epoch. Here they are the filters
        at both ends of the leading principal direction at the end of training.
    """

    source: Literal["digits", "cifar10_pair"]
    m: int
    n: int
    epochs: int = 20
    early_epochs: int = 3
    lr: float = 0.05
    batch_size: int = 100
    side: int | None = None
    picked: float = 0.2

    def __post_init__(self) -> None:
        for name in ("m", "n", "epochs", "early_epochs", "batch_size"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        if self.side is not None:
            require_integer(self.side, "side", "Config", minimum=8)
        require_number(self.lr, "lr", "Config", positive=True)
        require_number(self.picked, "picked", "Config", positive=True, maximum=0.5)
        require_settings(self)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train; cluster cosines per stage, movement of filters, cosines of the mean gradients of early steps."""
    data = load_originals(config.source, config.n, generator, flat=False, side=config.side)
    net = ResNet(config.m, data.classes, generator=generator, channels=data.x.shape[1])
    per_epoch = max(1, len(data.x) // config.batch_size)
    steps = max(config.epochs * per_epoch, EARLY)
    early = min(config.early_epochs * per_epoch, steps)
    gradients: list[Tensor] = []
    last = net.stages[STAGES - 1][-1].second.weight  # type: ignore[index]

    def keep(gradient: Tensor) -> None:
        if len(gradients) < EARLY:
            gradients.append(gradient.flatten(1).clone())

    handle = last.register_hook(keep)
    plan = Classification(steps=steps, lr=config.lr, batch_size=config.batch_size, optimiser="sgd")

    def observe(step: int, module: nn.Module) -> list[Tensor]:
        return [net.filters(stage).detach().clone() for stage in range(STAGES)]

    seen = plan.run(
        net, data.x, data.labels, generator=generator, observe=observe, observe_at=(0, early, steps)
    )
    handle.remove()
    states = dict(seen)
    right = predictions(net, data.x_test)[0] == data.labels_test
    values: dict[str, Any] = {"test": float(right.double().mean())}
    for stage in range(STAGES):
        end = states[steps][stage]
        green, red = picked_clusters(end, config.picked)
        values[f"block{stage + 1}"] = _cluster_values(end, green, red)
        values[f"block{stage + 1}_start"] = _cluster_values(states[0][stage], green, red)
        values[f"block{stage + 1}_early_move"] = _move(states[0][stage], states[early][stage])
        values[f"block{stage + 1}_late_move"] = _move(states[early][stage], end)
    return values | _gradient_values(gradients, states[steps][STAGES - 1], config.picked)


def picked_clusters(filters: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """Indices of the filters at both ends of the leading principal direction of the unit filters."""
    unit = _unit(filters)
    axis = torch.linalg.svd(unit, full_matrices=False).Vh[0]
    order = (unit @ axis).argsort()
    count = max(1, round(share * len(order)))
    return order[:count], order[-count:]


def _unit(v: Tensor) -> Tensor:
    return v.double() / torch.linalg.vector_norm(v.double(), dim=-1, keepdim=True).clamp_min(1e-300)


def _cluster_values(filters: Tensor, green: Tensor, red: Tensor) -> list[float]:
    """(green, red, two centres): mean cosine to one's own centre, and the cosine of the centres."""
    unit = _unit(filters)
    centres = [_unit(unit[members].mean(dim=0)) for members in (green, red)]
    inside = [float((unit[m] @ c).mean()) for m, c in zip((green, red), centres, strict=True)]
    return [*inside, float(centres[0] @ centres[1])]


def _move(before: Tensor, after: Tensor) -> float:
    """Mean of 1 - cos between a filter before and after."""
    return float((1 - (_unit(before) * _unit(after)).sum(dim=1)).mean())


def _gradient_values(gradients: list[Tensor], end: Tensor, share: float) -> dict[str, Any]:
    """Cosines of the mean gradients of steps 1-10, 11-20, 21-30, to their mean and to each other.

    Ref: features, Tab 7
    """
    trunks = torch.stack(gradients).double().unflatten(0, (-1, TRUNK)).mean(dim=1)
    green, _ = picked_clusters(end, share)
    centre = _unit(end)[green].mean(dim=0)
    chosen = int((_unit(end) @ centre).argmax())

    def cosines(v: Tensor) -> list[float]:
        unit, mean = _unit(v), _unit(v.mean(dim=0))
        pairs = [float(unit[i] @ unit[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        return [*(unit @ mean).tolist(), *pairs]

    table = [cosines(trunks[:, i]) for i in range(trunks.shape[1])]
    mean = [sum(row[c] for row in table) / len(table) for c in range(6)]
    return {"gradient_cosines": table[chosen], "gradient_cosines_mean": mean}


_HERE = available("cifar10_pair")
_BASE = Config(source="cifar10_pair" if _HERE else "digits", m=8, n=1000, epochs=4, batch_size=50, side=16)

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
        "quick": Preset(config=_BASE, seeds=1, cell_seconds=8),
        "full": Preset(
            config=replace(_BASE, n=10_000, epochs=20, batch_size=100, side=None),
            grid={"m": (128, 256)},
            seeds=1,
            cell_seconds=60_000,
        ),
    },
    run=run,
)
