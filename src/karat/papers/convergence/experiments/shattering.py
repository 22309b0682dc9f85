"""The construction behind the lower bound on capacity: clusters of points that balls shatter."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from karat.core.ranges import Count, Positive, settings
from karat.data.sphere import smallest_distance
from karat.papers.convergence.bounds import ball_ratio, cluster_offset
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class ShatteringConfig:
    r"""Settings of one construction.

    Args:
        d: dimension, and the points of a cluster.
        clusters: :math:`\lfloor n/2 \rfloor` of them, for every cluster takes two of the n balls.
        tau: radius of the balls.
        labellings: random ones tried.
        share: offset as a share of its supremum; beyond 1 some ball cannot hold its points.
        printed: take the maximum that the text prints.
    """

    d: Annotated[int, Ge(2)]
    clusters: Count = 4
    tau: Positive = 1.0
    labellings: Count = 200
    share: Annotated[float, Gt(0), Le(2)] = 0.98
    printed: bool = False


@dataclass(frozen=True, kw_only=True)
class ShatteringResult:
    r"""What the random labellings show.

    Args:
        shattered: share of labellings for which every claim of the construction is true.
        held: share of labellings for which every ball holds its points.
        smallest_distance: between centres of balls, over all labellings; must exceed :math:`2 \tau`.
        points: how many there are.
        offset: distance of the points from the centre of their cluster.
        ratio_measured: :math:`\max_k \gamma_k` by bisection.
        ratio: :math:`\max_k \gamma_k` by its closed form.
    """

    shattered: float
    held: float
    smallest_distance: float
    points: int
    offset: float
    ratio_measured: float
    ratio: float


def run(config: ShatteringConfig, generator: torch.Generator) -> ShatteringResult:
    """Draw labellings of the clusters, place the balls, and check every claim of the construction.

    Ref: convergence, Thm 6.1
    """
    offset = config.share * cluster_offset(config.d, config.tau, printed=config.printed)
    origins = cluster_origins(config.clusters, config.d, config.tau)
    points = cluster_points(origins, offset)
    shape = (config.labellings, config.clusters, config.d)
    labels = torch.randint(0, 2, shape, generator=generator).double() * 2 - 1
    held, distances, separated = [], [], []
    for labelling in labels:
        centres, ball_of_point = place_balls(labelling, offset, config.tau)
        distance = torch.linalg.vector_norm(points - centres[ball_of_point], dim=2)
        # Points may lie on the surface of their ball, up to rounding.
        held.append(bool((distance <= config.tau * (1 + 1e-12)).all()))
        distances.append(smallest_distance(centres))
        side = torch.einsum("cd,cjd->cj", labelling, points - origins.unsqueeze(1))
        separated.append(bool((side * labelling > 0).all()))
    shattered = [
        holds and splits and apart > 2 * config.tau
        for holds, splits, apart in zip(held, separated, distances, strict=True)
    ]
    return ShatteringResult(
        shattered=sum(shattered) / config.labellings,
        held=sum(held) / config.labellings,
        smallest_distance=min(distances),
        points=config.clusters * config.d,
        offset=offset,
        ratio_measured=_measured_ratio(config.d),
        ratio=max(ball_ratio(k, config.d) for k in range(1, config.d)),
    )


def cluster_origins(clusters: int, d: int, tau: float) -> Tensor:
    r"""Return the centres :math:`c_i = (6 i \tau, 0, \dots, 0)` of the clusters, far enough apart.

    Args:
        clusters: how many.
        d: dimension.
        tau: radius of the balls.

    Returns:
        (clusters, d).

    Ref: convergence, App D
    """
    origins = torch.zeros(clusters, d, dtype=torch.float64)
    origins[:, 0] = 6 * tau * torch.arange(1, clusters + 1)
    return origins


def cluster_points(origins: Tensor, offset: float) -> Tensor:
    r"""Return the points :math:`x_{ij} = c_i + \text{offset} \cdot e_j` of every cluster.

    Args:
        origins: (clusters, d) centres of the clusters.
        offset: of the points.

    Returns:
        (clusters, d, d).

    Ref: convergence, App D
    """
    return origins.unsqueeze(1) + offset * torch.eye(origins.shape[1], dtype=torch.float64)


def place_balls(labelling: Tensor, offset: float, tau: float) -> tuple[Tensor, Tensor]:
    r"""Place two balls per cluster, one on each side of its plane, and say which ball must hold which point.

    The plane of cluster i goes through its centre, with the labels as its normal:
    :math:`\{x : \langle y_i, x - c_i \rangle = 0\}`.

    Args:
        labelling: (clusters, d) of :math:`\pm 1`, one label per point.
        offset: of the points from the centre of their cluster.
        tau: radius of the balls.

    Returns:
        (2 clusters, d) centres; (clusters, d) index of the ball that must hold each point.

    Ref: convergence, App D
    """
    clusters, d = labelling.shape
    origins = cluster_origins(clusters, d, tau)
    points = cluster_points(origins, offset)
    centres = torch.empty(clusters, 2, d, dtype=torch.float64)
    for i, label in enumerate(labelling):
        for side, sign in enumerate((1.0, -1.0)):
            members = points[i, label == sign]
            if len(members):
                centres[i, side] = _ball_centre(members, origins[i], sign * label / math.sqrt(d), offset, tau)
            else:
                # Nothing to hold: above the whole construction, at a height of its own.
                centres[i, side] = origins[i]
                centres[i, side, -1] += 100 * tau * (1 + i)
    ball_of_point = torch.where(labelling > 0, 0, 1) + 2 * torch.arange(clusters).unsqueeze(1)
    return centres.reshape(2 * clusters, d), ball_of_point


def _ball_centre(members: Tensor, origin: Tensor, normal: Tensor, offset: float, tau: float) -> Tensor:
    """The centre of the ball that holds these points of a cluster, on the side of the plane of its normal.

    It sits above the centroid of its points at the height that leaves the most room, at least tau, so that
    balls of one cluster stay on their sides.
    """
    k, d = members.shape
    centroid = members.mean(dim=0)
    if k == d:
        return centroid  # all points carry one label, there is no other side to keep away from
    # The points lie on a sphere around their centroid, in a plane parallel to the separating one.
    spread = offset**2 * (1 - 1 / k)
    highest = offset / math.sqrt(d) + math.sqrt(max(0.0, tau**2 - spread))
    in_plane = centroid - origin - (normal @ (centroid - origin)) * normal
    # Any height in [tau, highest] holds the points; the middle keeps both claims strict.
    height = max(tau, (tau + highest) / 2) if highest > tau else tau
    return origin + in_plane + height * normal


def _measured_ratio(d: int) -> float:
    r"""The largest :math:`\gamma_k`, by bisection on the radius of a ball that touches the plane."""
    largest = 0.0
    for k in range(1, d):
        label = -torch.ones(d, dtype=torch.float64)
        label[:k] = 1
        normal = label / math.sqrt(d)
        points = torch.eye(d, dtype=torch.float64)[:k]  # offset 1
        centroid = points.mean(dim=0)
        in_plane = centroid - (normal @ centroid) * normal
        low, high = 0.0, 10.0 * math.sqrt(d)
        for _ in range(60):
            radius = (low + high) / 2
            distance = torch.linalg.vector_norm(points - (in_plane + radius * normal), dim=1)
            low, high = (low, radius) if bool((distance <= radius).all()) else (radius, high)
        largest = max(largest, high)
    return largest


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
            cell_seconds=0.06,
        ),
        "full": Preset(
            config=ShatteringConfig(d=4, clusters=16, labellings=2000),
            grid={"d": (2, 4, 8, 16, 32, 64, 128), "printed": (False, True)},
            seeds=5,
            cell_seconds=10,
        ),
    },
    run=run,
)
