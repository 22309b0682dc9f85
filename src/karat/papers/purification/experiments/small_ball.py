"""The codes alone: how many are on, and how much mass their score has near the decision boundary."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from karat.core.checks import require_integer, require_settings
from karat.data import SparseCoding
from karat.papers.purification.experiments.regime import split
from karat.probes.small_ball import boundary_mass
from karat.study.experiment import Experiment, Preset

GRID = (0.05, 0.1, 0.2, 0.4)
"""Distances t from the boundary; beyond them a probability can no longer grow like t."""

CHUNK = 500
"""Codes drawn at a time: a row has k^2 entries."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The law of the codes at one sparsity.

    Args:
        k: sparsity; the dimension is the smallest with k <= d^0.499.
        n: codes drawn.
    """

    k: int
    n: int = 4000

    def __post_init__(self) -> None:
        require_integer(self.k, "k", "Config", minimum=4)
        require_integer(self.n, "n", "Config", minimum=1)
        require_settings(self)

    @property
    def d(self) -> int:
        """The smallest dimension that the assumption allows."""
        return math.ceil(self.k ** (1 / 0.499))


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Counts of |z|_0 and P(|<w*, z>| <= t) over the grid of t."""
    draws = split(generator, 2)
    model = SparseCoding.draw(d=config.d, k=config.k, generator=draws[0], dictionary="identity")
    supports, near = [], torch.zeros(len(GRID), dtype=torch.float64)
    for first in range(0, config.n, CHUNK):
        z = model.code.sample(min(CHUNK, config.n - first), generator=draws[1])
        supports.append((z != 0).sum(dim=1))
        near += boundary_mass(model, z, torch.tensor(GRID)) * len(z)
    return {
        "d": config.d,
        "expected_support": model.code.expected_support,
        "support_counts": torch.bincount(torch.cat(supports)).tolist(),
        "t": list(GRID),
        "boundary_mass": (near / config.n).tolist(),
    }


SMALL_BALL = Experiment(
    name="purification.small_ball",
    title="Is |z|_0 of order k, and how much mass lies near the decision boundary?",
    paper="purification",
    presets={
        "tiny": Preset(config=Config(k=8, n=1000), grid={"k": (8, 16)}, seeds=2, cell_seconds=0.1),
        "quick": Preset(config=Config(k=8), grid={"k": (8, 16, 32, 64)}, seeds=3, cell_seconds=0.3),
        "full": Preset(
            config=Config(k=8, n=40_000), grid={"k": (8, 16, 32, 64, 128)}, seeds=10, cell_seconds=10
        ),
    },
    run=run,
)
