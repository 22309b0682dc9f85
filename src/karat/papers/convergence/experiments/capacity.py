"""What robust interpolation costs: the smallest nets that interpolate, and that provably do so robustly."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor

from karat.certificates import certify
from karat.core.ball import Ball
from karat.core.ranges import Count, Positive, Share, settings
from karat.data.sphere import smallest_distance
from karat.nets import TwoLayer
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined
from karat.training.small_nets import train_batch

_TOO_FEW = Undefined("no width that was tried is enough")


@dataclass(frozen=True, kw_only=True)
@settings
class CapacityConfig:
    """Settings of one point set.

    Args:
        d: dimension.
        n: points, spread out, with random labels.
        share: tau as a share of half the smallest distance, 0 for ordinary interpolation.
        widths: tried in this order, which must be increasing.
        restarts: nets trained at every width.
        steps: of training.
        attack_steps: of the attacks during training.
        lr: step size of training.
        domains: per point for the search of the certificate that decides robust interpolation.
    """

    d: Count
    n: Count = 10
    share: Share = 0.0
    widths: Annotated[tuple[Count, ...], MinLen(1)] = (1, 2, 3, 4, 6, 8, 12, 16, 24)
    restarts: Count = 8
    steps: Count = 250
    attack_steps: Count = 5
    lr: Positive = 0.05
    domains: Count = 1000

    def __post_init__(self) -> None:
        if list(self.widths) != sorted(set(self.widths)):
            raise ValueError(
                f"`widths` of `CapacityConfig` must hold increasing whole numbers >= 1, got {self.widths}."
            )


@dataclass(frozen=True, kw_only=True)
class CapacityResult:
    """What the widths tried on one point set show.

    Args:
        tau: radius of the balls.
        attacked_width: the smallest width with a net that no attack breaks.
        width: the smallest width with a net that is certified on every ball.
        parameters: of that net.
        success: share of restarts that no attack breaks, for every width tried.
        n: points.
    """

    tau: float
    attacked_width: Annotated[int | None, _TOO_FEW]
    width: Annotated[int | None, _TOO_FEW]
    parameters: Annotated[int | None, _TOO_FEW]
    success: list[float]
    n: int


def run(config: CapacityConfig, generator: torch.Generator) -> CapacityResult:
    """Find the smallest width tried that interpolates, and the one that provably interpolates every ball.

    Reading: widths found by an optimiser are upper bounds on the smallest one; robust interpolation counts
        only when every ball is certified. Parameters: width (d + 2) + 1.

    Ref: convergence, Thm 6.1
    """
    x = _spread_points(config.n, config.d, generator)
    y = torch.where(torch.arange(config.n) % 2 == 0, 1.0, -1.0).double()[
        torch.randperm(config.n, generator=generator)
    ]
    tau = config.share * smallest_distance(x) / 2
    attacked_width = certified_width = None
    success = []
    for width in config.widths:
        nets = train_batch(
            x,
            y,
            tau,
            width,
            restarts=config.restarts,
            steps=config.steps,
            attack_steps=config.attack_steps,
            lr=config.lr,
            generator=generator,
        )
        # An attack that fails proves nothing: these nets are candidates for the certificate.
        unbroken = [net for net, margin in nets if margin > 0]
        success.append(len(unbroken) / config.restarts)
        if unbroken and attacked_width is None:
            attacked_width = width
        if any(_is_certified(net, x, y, tau, config.domains) for net in unbroken):
            certified_width = width
            break
    return CapacityResult(
        tau=tau,
        attacked_width=attacked_width,
        width=certified_width,
        parameters=None if certified_width is None else certified_width * (config.d + 2) + 1,
        success=success,
        n=config.n,
    )


def _is_certified(net: TwoLayer, x: Tensor, y: Tensor, tau: float, domains: int) -> bool:
    """Whether every ball is certified, with a search counted in domains: time would depend on the load."""
    if tau == 0:
        return True  # the margins at the points themselves are exact
    status = certify(net, x, y, Ball(2, tau), domains_per_sample=domains).status
    return all(word == "robust" for word in status)


def _spread_points(n: int, d: int, generator: torch.Generator, pool: int = 400) -> Tensor:
    """n points of the unit cube, each the farthest from those before it among a random pool."""
    # Points that happen to lie close together would make the radius tiny and the robust question ordinary.
    candidates = torch.rand(pool, d, generator=generator, dtype=torch.float64)
    chosen = [0]
    distance = torch.cdist(candidates, candidates)
    for _ in range(n - 1):
        chosen.append(int(distance[chosen].amin(dim=0).argmax()))
    return candidates[chosen]


BASE = CapacityConfig(d=2)

CAPACITY = Experiment(
    name="convergence.capacity",
    title="How many parameters does a net need to interpolate, and to interpolate robustly, as d grows?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(BASE, n=4, widths=(1, 2, 4, 8), restarts=3, steps=60),
            grid={"d": (2, 3, 4), "share": (0.0, 0.5)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=BASE, grid={"d": (2, 4, 8, 16), "share": (0.0, 0.8)}, seeds=3, cell_seconds=0.7
        ),
        "full": Preset(
            config=replace(
                BASE,
                n=16,
                restarts=30,
                steps=1000,
                attack_steps=10,
                domains=20_000,
                widths=(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48),
            ),
            grid={"d": (2, 4, 8, 16, 32), "share": (0.0, 0.5, 0.8)},
            seeds=5,
            cell_seconds=300,
        ),
    },
    run=run,
)
