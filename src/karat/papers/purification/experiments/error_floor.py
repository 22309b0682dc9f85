"""The error that no classifier avoids under small l2 attacks, from pairs of inputs that meet half-way."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge

from karat.core.ranges import Count, Positive, settings
from karat.papers.purification.experiments.draws import split
from karat.probes.small_ball import SmallCodes, sliding_floor
from karat.study.experiment import Experiment, Preset

RADII = (0.0125, 0.025, 0.05, 0.1)
r"""Radii of attack in units of :math:`1/\sqrt k`."""


@dataclass(frozen=True, kw_only=True)
@settings
class ErrorFloorConfig:
    r"""The law of the codes at one sparsity.

    Args:
        k: sparsity; the dimension is the smallest with :math:`k \le d^{0.499}`.
        n: codes drawn.
        small_spread: largest small code in units of :math:`1/\sqrt k`.
    """

    k: Annotated[int, Ge(16)]
    n: Count = 20_000
    small_spread: Annotated[Positive, Ge(1)] = 1.5

    @property
    def d(self) -> int:
        """The smallest dimension that the assumption allows."""
        return math.ceil(self.k ** (1 / 0.499))


@dataclass(frozen=True, kw_only=True)
class ErrorFloorResult:
    """What every classifier loses at the radii.

    Args:
        floors: lower bounds on the robust error.
    """

    floors: list[float]


def run(config: ErrorFloorConfig, generator: torch.Generator) -> ErrorFloorResult:
    """Draw the codes that are on, and pair them."""
    for_codes, for_large = split(generator, 2)
    codes = SmallCodes.draw(
        n=config.n, k=config.k, d=config.d, spread=config.small_spread, generator=for_codes
    )
    # Large codes number 0.2 in the mean; a binomial of so many tries is drawn as sums of its signs.
    number = torch.poisson(torch.full((2, config.n), 0.1, dtype=torch.float64), generator=for_large)
    rest = number[0] - number[1]
    floors = [sliding_floor(codes, rest, radius / math.sqrt(config.k)) for radius in RADII]
    # What is lost at a radius is lost at every larger one.
    return ErrorFloorResult(floors=torch.tensor(floors).cummax(0).values.tolist())


ERROR_FLOOR = Experiment(
    name="purification.error_floor",
    title="Which robust error does no classifier avoid?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=ErrorFloorConfig(k=64, n=4000), grid={"k": (64, 128, 256)}, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(
            config=ErrorFloorConfig(k=64), grid={"k": (64, 256, 1024, 4096)}, seeds=3, cell_seconds=0.59
        ),
        "full": Preset(
            config=ErrorFloorConfig(k=64, n=40_000),
            grid={"k": (64, 256, 1024, 4096, 10_000)},
            seeds=10,
            cell_seconds=4,
        ),
    },
    run=run,
)
