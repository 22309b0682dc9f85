"""The codes alone: how many are on, and how much mass their score has near the decision boundary."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge

from karat.core.ranges import Count, Positive, settings
from karat.data import SparseCode, SparseCoding
from karat.papers.purification.experiments.draws import split
from karat.probes.small_ball import boundary_mass
from karat.study.experiment import Experiment, Preset

GRID = (0.05, 0.1, 0.2, 0.4)
"""Distances t from the boundary; beyond them a probability can no longer grow like t."""

CHUNK = 500
"""Codes drawn at a time: a row has k^2 entries."""


@dataclass(frozen=True, kw_only=True)
@settings
class SmallBallConfig:
    r"""The law of the codes at one sparsity.

    Args:
        k: sparsity; the dimension is the smallest with :math:`k \le d^{0.499}`.
        n: codes drawn.
        small_rate: expected number of small codes over k.
    """

    k: Annotated[int, Ge(4)]
    n: Count = 4000
    small_rate: Positive = 0.15

    def __post_init__(self) -> None:
        SparseCode(k=self.k, D=self.d, small_rate=self.small_rate)  # its own checks

    @property
    def d(self) -> int:
        """The smallest dimension that the assumption allows."""
        return math.ceil(self.k ** (1 / 0.499))


@dataclass(frozen=True, kw_only=True)
class SmallBallResult:
    r"""Statistics of the codes.

    Args:
        d: their dimension.
        expected_support: mean number :math:`E \|z\|_0` of codes that are on.
        support_counts: how many of the drawn codes have 0, 1, 2, ... entries on.
        t: distances from the boundary.
        boundary_mass: :math:`P(|\langle w^*, z \rangle| \le t)` at each of them.
    """

    d: int
    expected_support: float
    support_counts: list[int]
    t: list[float]
    boundary_mass: list[float]


def run(config: SmallBallConfig, generator: torch.Generator) -> SmallBallResult:
    r"""Counts of :math:`\|z\|_0` and :math:`P(|\langle w^*, z \rangle| \le t)` over the grid of t."""
    for_model, for_codes = split(generator, 2)
    model = SparseCoding.draw(
        d=config.d, k=config.k, generator=for_model, dictionary="identity", small_rate=config.small_rate
    )
    supports, near = [], torch.zeros(len(GRID), dtype=torch.float64)
    for first in range(0, config.n, CHUNK):
        z = model.code.sample(min(CHUNK, config.n - first), generator=for_codes)
        supports.append((z != 0).sum(dim=1))
        near += boundary_mass(model, z, torch.tensor(GRID)) * len(z)
    return SmallBallResult(
        d=config.d,
        expected_support=model.code.expected_support,
        support_counts=torch.bincount(torch.cat(supports)).tolist(),
        t=list(GRID),
        boundary_mass=(near / config.n).tolist(),
    )


SMALL_BALL = Experiment(
    name="purification.small_ball",
    title="Is |z|_0 of order k, and how much mass lies near the decision boundary?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=SmallBallConfig(k=8, n=1000), grid={"k": (8, 12, 16)}, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(config=SmallBallConfig(k=8), grid={"k": (8, 16, 32, 64)}, seeds=3, cell_seconds=0.09),
        "full": Preset(
            config=SmallBallConfig(k=8, n=40_000),
            grid={"k": (8, 16, 32, 64, 128)},
            seeds=10,
            cell_seconds=10,
        ),
    },
    run=run,
)
