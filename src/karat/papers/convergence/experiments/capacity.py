"""What robust interpolation costs: the shattering construction, and the smallest nets that manage."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.certificates import certify
from karat.core.ball import Ball
from karat.core.checks import require_integer, require_number, require_settings
from karat.data.sphere import smallest_distance
from karat.nets import TwoLayer
from karat.papers.convergence.bounds import ball_ratio, cluster_offset
from karat.study.experiment import Experiment, Preset
from karat.training.small_nets import train_batch


@dataclass(frozen=True, kw_only=True)
class ShatteringConfig:
    """Settings of one construction.

    Args:
        d: dimension.
        clusters: ceil(n/2) of them.
        tau: radius of the balls.
        labellings: random ones tried.
        share: offset as a share of its supremum.
        printed: take the maximum that the text prints.
    """

    d: int
    clusters: int = 4
    tau: float = 1.0
    labellings: int = 200
    share: float = 0.98
    printed: bool = False

    def __post_init__(self) -> None:
        require_integer(self.d, "d", "Config", minimum=2)
        for name in ("clusters", "labellings"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_number(self.tau, "tau", "Config", positive=True)
        require_number(self.share, "share", "Config", positive=True, maximum=1)
        require_settings(self)


def run_shattering(config: ShatteringConfig, generator: torch.Generator) -> dict[str, Any]:
    """Draw labellings of the clusters, place the balls, and check every claim of the construction.

    Ref: convergence, Thm 6.1
    """
    offset = config.share * cluster_offset(config.d, config.tau, printed=config.printed)
    shape = (config.labellings, config.clusters, config.d)
    labels = torch.randint(0, 2, shape, generator=generator).double() * 2 - 1
    held, apart, separated = [], [], []
    for labelling in labels:
        centres, owner = place_balls(labelling, offset, config.tau)
        points = cluster_points(config.clusters, config.d, offset, config.tau)
        distance = torch.linalg.vector_norm(points - centres[owner], dim=2)
        held.append(bool((distance <= config.tau * (1 + 1e-12)).all()))
        apart.append(smallest_distance(centres))
        side = torch.einsum("cd,cjd->cj", labelling, points - _origins(config))
        separated.append(bool((side * labelling > 0).all()))
    return {
        "shattered": sum(
            h and s and a > 2 * config.tau for h, s, a in zip(held, separated, apart, strict=True)
        )
        / config.labellings,
        "held": sum(held) / config.labellings,
        "smallest_distance": min(apart),
        "points": config.clusters * config.d,
        "offset": offset,
        "ratio_measured": _smallest_ball(config.d),
        "ratio": max(ball_ratio(k, config.d) for k in range(1, config.d)),
    }


def _origins(config: ShatteringConfig) -> Tensor:
    """Cluster centres (6 i tau, 0, ...), (clusters, 1, d)."""
    origins = torch.zeros(config.clusters, 1, config.d, dtype=torch.float64)
    origins[:, 0, 0] = 6 * config.tau * torch.arange(1, config.clusters + 1)
    return origins


def cluster_points(clusters: int, d: int, offset: float, tau: float) -> Tensor:
    """x_ij = c_i + offset e_j, (clusters, d, d)."""
    origins = torch.zeros(clusters, 1, d, dtype=torch.float64)
    origins[:, 0, 0] = 6 * tau * torch.arange(1, clusters + 1)
    return origins + offset * torch.eye(d, dtype=torch.float64)


def place_balls(labelling: Tensor, offset: float, tau: float) -> tuple[Tensor, Tensor]:
    """Centres of radius-tau balls, two per cluster, one on each side of its plane, and every point's ball.

    A ball sits above the centroid of its points at the height that leaves the most room, at least tau, so
    that balls of one cluster stay on their sides. A label that no point has gets a ball far away.

    Args:
        labelling: (clusters, d) of +-1.

    Returns:
        (2 clusters, d) centres; (clusters, d) index of the ball that must hold each point.
    """
    clusters, d = labelling.shape
    points = cluster_points(clusters, d, offset, tau)
    centres = torch.empty(clusters, 2, d, dtype=torch.float64)
    for i, label in enumerate(labelling):
        normal = label / math.sqrt(d)
        origin = torch.zeros(d, dtype=torch.float64)
        origin[0] = 6 * tau * (i + 1)
        for side, sign in enumerate((1.0, -1.0)):
            own = label == sign
            k = int(own.sum())
            if k == 0:
                # Nothing to hold: above the whole construction, at a height of its own.
                centres[i, side] = origin
                centres[i, side, -1] += 100 * tau * (1 + i)
                continue
            centroid = points[i, own].mean(dim=0)
            if k == d:
                centres[i, side] = centroid
                continue
            spread = offset**2 * (1 - 1 / k)
            height = offset / math.sqrt(d) + math.sqrt(max(0.0, tau**2 - spread))
            inplane = centroid - origin - (normal @ (centroid - origin)) * normal
            # Any height in [tau, height] holds the points; the middle keeps both claims strict.
            lift = max(tau, (tau + height) / 2) if height > tau else tau
            centres[i, side] = origin + inplane + sign * lift * normal
    owner = torch.where(labelling > 0, 0, 1) + 2 * torch.arange(clusters).unsqueeze(1)
    return centres.reshape(2 * clusters, d), owner


def _smallest_ball(d: int) -> float:
    """Largest over k of the smallest radius, by bisection on the construction itself, for offset 1."""
    worst = 0.0
    for k in range(1, d):
        label = -torch.ones(d, dtype=torch.float64)
        label[:k] = 1
        normal = label / math.sqrt(d)
        points = torch.eye(d, dtype=torch.float64)[:k]
        centroid = points.mean(dim=0)
        inplane = centroid - (normal @ centroid) * normal
        low, high = 0.0, 10.0 * math.sqrt(d)
        for _ in range(60):
            r = (low + high) / 2
            centre = inplane + r * normal
            fits = bool((torch.linalg.vector_norm(points - centre, dim=1) <= r).all())
            low, high = (low, r) if fits else (r, high)
        worst = max(worst, high)
    return worst


SHATTERING = Experiment(
    name="convergence.shattering",
    title="Does the construction behind the nd lower bound shatter its points, with which constant?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=ShatteringConfig(d=4, labellings=30),
            grid={"d": (2, 5, 9), "printed": (False, True)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=ShatteringConfig(d=4, labellings=120),
            grid={"d": (2, 4, 8, 16, 32), "printed": (False, True)},
            seeds=3,
            cell_seconds=0.2,
        ),
        "full": Preset(
            config=ShatteringConfig(d=4, clusters=16, labellings=2000),
            grid={"d": (2, 4, 8, 16, 32, 64, 128), "printed": (False, True)},
            seeds=5,
            cell_seconds=10,
        ),
    },
    run=run_shattering,
)


@dataclass(frozen=True, kw_only=True)
class CapacityConfig:
    """Settings of one point set.

    Args:
        d, n: dimension and points, spread out, with random labels.
        share: tau as a share of half the smallest distance, 0 for ordinary interpolation.
        widths: tried in order.
        restarts, steps, lr: of training.
        domains: per point for the search of the certificate that decides robust interpolation.
    """

    d: int
    n: int = 10
    share: float = 0.0
    widths: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16, 24)
    restarts: int = 8
    steps: int = 250
    attack_steps: int = 5
    lr: float = 0.05
    domains: int = 1000

    def __post_init__(self) -> None:
        for name in ("d", "n", "restarts", "steps", "attack_steps", "domains"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_number(self.share, "share", "Config", minimum=0, maximum=1)
        require_number(self.lr, "lr", "Config", positive=True)
        require_settings(self)
        if list(self.widths) != sorted(set(self.widths)) or not self.widths or self.widths[0] < 1:
            raise ValueError(
                f"`widths` of `Config` must hold increasing whole numbers >= 1, got {self.widths}."
            )


def run_capacity(config: CapacityConfig, generator: torch.Generator) -> dict[str, Any]:
    """The smallest tried width that interpolates, and that provably interpolates every ball.

    Reading: widths found by an optimiser are upper bounds on the smallest one; robust interpolation counts
        only when every ball is certified. Parameters: width (d + 2) + 1.

    Ref: convergence, Thm 6.1
    """
    x = _spread_points(config.n, config.d, generator)
    y = torch.where(torch.arange(config.n) % 2 == 0, 1.0, -1.0).double()[
        torch.randperm(config.n, generator=generator)
    ]
    tau = config.share * smallest_distance(x) / 2
    attacked = certified = None
    tried = []
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
        good = [net for net, margin in nets if margin > 0]
        tried.append(len(good) / config.restarts)
        if good and attacked is None:
            attacked = width
        if good and any(_proven(net, x, y, tau, config.domains) for net in good):
            certified = width
            break
    return {
        "tau": tau,
        "attacked_width": attacked,
        "width": certified,
        "parameters": None if certified is None else certified * (config.d + 2) + 1,
        "success": tried,
        "n": config.n,
    }


def _proven(net: TwoLayer, x: Tensor, y: Tensor, tau: float, domains: int) -> bool:
    """Whether every ball is certified, with a search counted in domains: time would depend on the load."""
    if tau == 0:
        return True
    status = certify(net, x, y, Ball(2, tau), domains_per_sample=domains).status
    return all(word == "robust" for word in status)


def _spread_points(n: int, d: int, generator: torch.Generator, pool: int = 400) -> Tensor:
    """n points of the unit cube, each the farthest from those before it among a random pool."""
    candidates = torch.rand(pool, d, generator=generator, dtype=torch.float64)
    chosen = [0]
    distance = torch.cdist(candidates, candidates)
    for _ in range(n - 1):
        chosen.append(int(distance[chosen].amin(dim=0).argmax()))
    return candidates[chosen]


_CAPACITY = CapacityConfig(d=2)
_TOO_FEW = "no width that was tried is enough"

CAPACITY = Experiment(
    name="convergence.capacity",
    title="How many parameters does a net need to interpolate, and to interpolate robustly, as d grows?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(_CAPACITY, n=4, widths=(1, 2, 4, 8), restarts=3, steps=60),
            grid={"d": (2, 3, 4), "share": (0.0, 0.5)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=_CAPACITY, grid={"d": (2, 4, 8, 16), "share": (0.0, 0.8)}, seeds=3, cell_seconds=1.4
        ),
        "full": Preset(
            config=replace(
                _CAPACITY,
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
    run=run_capacity,
    undefined={"attacked_width": _TOO_FEW, "width": _TOO_FEW, "parameters": _TOO_FEW},
)
