"""Small classes of functions: do they interpolate robustly, and what is their VC dimension?"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Positive, settings
from karat.study.experiment import Experiment, Preset

Family = Literal["constants", "one constant", "halfspaces", "halfspaces through 0"]

POINTS = {"constants": 1, "one constant": 1, "halfspaces": 2, "halfspaces through 0": 2}
"""Family -> the n whose robust interpolation is asked for."""

LABELLINGS = 256
"""So many labellings of a point set are tried when there are more."""


@dataclass(frozen=True, kw_only=True)
@settings
class ClassesConfig:
    """Settings of one family.

    Args:
        family: of functions on R^d with values -1 and 1.
        d: dimension.
        tau: radius of the balls.
        sets: random point sets.
    """

    family: Family
    d: Annotated[int, Ge(2)]
    tau: Positive = 1.0
    sets: Count = 200


@dataclass(frozen=True, kw_only=True)
class ClassesResult:
    """What the family shows.

    Args:
        n: points that are to be interpolated.
        robust: share of point sets and labellings that some member interpolates on all balls.
        shattered: size of a point set that is shattered.
        unshattered: size of which no point set that was drawn is shattered.
    """

    n: int
    robust: float
    shattered: int
    unshattered: int


def run(config: ClassesConfig, generator: torch.Generator) -> ClassesResult:
    r"""Interpolate random points more than :math:`2 \tau` apart on all balls, and bracket the VC dimension.

    A point set of d + 2 points has weights :math:`\lambda` with :math:`\sum \lambda_i = 0` and
    :math:`\sum \lambda_i x_i = 0`; no halfspace gives its points the signs of :math:`\lambda`, for
    :math:`\sum \lambda_i (\langle v, x_i \rangle + b) = 0`.

    Ref: convergence, Def 6.2; convergence, Thm 6.1
    """
    n, d = POINTS[config.family], config.d
    if n == 1:
        # Constants never tell two points apart, and a ball around one point is no obstacle to them.
        both = config.family == "constants"
        return ClassesResult(n=1, robust=1.0 if both else 0.5, shattered=int(both), unshattered=1 + both)
    free = config.family == "halfspaces"
    shattered = d + free
    simplex = torch.cat([torch.zeros(1, d), torch.eye(d)]).double() if free else torch.eye(d).double()
    labels = _labellings(shattered, generator)
    columns = torch.cat([simplex, torch.ones(len(simplex), free, dtype=torch.float64)], dim=1)
    fits = torch.linalg.solve(columns, labels.T)
    if not bool((labels.T * (columns @ fits) > 0).all()):
        shattered = 0
    return ClassesResult(
        n=n,
        robust=_robust_share(config, free, generator),
        shattered=shattered,
        unshattered=d + 1 + free if _never_shattered(config, free, generator) else 10**9,
    )


def _labellings(points: int, generator: torch.Generator) -> Tensor:
    """All labellings of so many points, or random ones if there are too many."""
    if 2**points <= LABELLINGS:
        codes = torch.arange(2**points).unsqueeze(1)
        return ((codes >> torch.arange(points)) % 2).double() * 2 - 1
    return torch.randint(0, 2, (LABELLINGS, points), generator=generator).double() * 2 - 1


def _robust_share(config: ClassesConfig, free: bool, generator: torch.Generator) -> float:
    """Share of random pairs and labellings with a halfspace that keeps both balls on their sides."""
    direction = torch.randn(config.sets, config.d, generator=generator, dtype=torch.float64)
    direction = direction / torch.linalg.vector_norm(direction, dim=1, keepdim=True)
    first = 3 * config.tau * torch.randn(config.sets, config.d, generator=generator, dtype=torch.float64)
    # Barely more than two radii apart: the hardest pairs of the theorem.
    x = torch.stack([first, first + 2 * config.tau * (1 + 1e-3) * direction], dim=1)
    good = []
    for y in torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]], dtype=torch.float64):
        if free:
            v = (y[1] - y[0]) * direction
            # Equal labels: a plane far away on the other side.
            offset = -(v * x.mean(dim=1)).sum(dim=1) + (y[0] + y[1]) * config.tau
        else:
            v = torch.linalg.pinv(x) @ y
            offset = torch.zeros(config.sets, dtype=torch.float64)
        values = (x @ v.unsqueeze(2)).squeeze(2) + offset.unsqueeze(1)
        margin = y * values - config.tau * torch.linalg.vector_norm(v, dim=1, keepdim=True)
        good.append((margin > 0).all(dim=1))
    return float(torch.stack(good).double().mean())


def _never_shattered(config: ClassesConfig, free: bool, generator: torch.Generator) -> bool:
    """Whether random sets of one point more all have weights that no halfspace follows, up to rounding."""
    size = config.d + 1 + free
    x = torch.randn(config.sets, size, config.d, generator=generator, dtype=torch.float64)
    rows = torch.cat([x, torch.ones(config.sets, size, int(free), dtype=torch.float64)], dim=2)
    weights = torch.linalg.svd(rows.transpose(1, 2), full_matrices=True).Vh[:, -1]
    left = (weights.unsqueeze(1) @ rows).abs().amax()
    return bool(left < 1e-10 * math.sqrt(size))


CLASSES = Experiment(
    name="convergence.classes",
    title="How large is the VC dimension of the smallest classes that interpolate robustly?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=ClassesConfig(family="constants", d=2, sets=20),
            grid={"family": ("constants", "halfspaces"), "d": (2, 5)},
            seeds=2,
            cell_seconds=0.02,
        ),
        "quick": Preset(
            config=ClassesConfig(family="constants", d=2),
            grid={"family": ("constants", "halfspaces"), "d": (2, 4, 8, 16, 32)},
            seeds=3,
            cell_seconds=0.01,
        ),
        "full": Preset(
            config=ClassesConfig(family="constants", d=2, sets=2000),
            grid={"family": ("constants", "halfspaces"), "d": (2, 4, 8, 16, 32, 64)},
            seeds=5,
            cell_seconds=2,
        ),
    },
    run=run,
)
