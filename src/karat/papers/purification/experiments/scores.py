r"""The score :math:`\langle w^*, z \rangle` by exact formulas: its mass, and what a threshold loses."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge

from karat.core.ranges import NonNegative, Positive, settings
from karat.data import SparseCode
from karat.papers.purification.bounds_scores import ScoreLaw
from karat.study.experiment import Experiment, Preset

WIDTHS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4)
"""Half-widths t of the windows; beyond them a probability can no longer grow like t."""
CENTRES = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Centres r of the windows."""
PARTS = (1.0, 0.5, 0.1, 0.02)
r"""Shares :math:`|\Lambda|/d` of the coordinates that are summed."""
RADII = (0.4, 0.2, 0.1, 0.05, 0.025)
r"""Radii of attack in units of :math:`1/\sqrt k`; below 1/2 no coordinate can pass the threshold."""


@dataclass(frozen=True, kw_only=True)
@settings
class ScoresConfig:
    r"""The law of the codes at one sparsity.

    Args:
        k: sparsity; the dimension is the smallest with :math:`k \le d^{0.499}`.
        small_rate: expected number of small codes over k.
        power: of the radius :math:`\tau = 0.4\, k^{-\mathtt{power}}` at which robustness is followed over k.
    """

    k: Annotated[int, Ge(16)]
    small_rate: Positive = 0.15
    power: Annotated[NonNegative, Ge(0.5)] = 0.7

    def __post_init__(self) -> None:
        SparseCode(k=self.k, D=self.d, small_rate=self.small_rate)  # its own checks

    @property
    def d(self) -> int:
        """The smallest dimension that the assumption allows."""
        return math.ceil(self.k ** (1 / 0.499))


@dataclass(frozen=True, kw_only=True)
class ScoresResult:
    r"""Probabilities without sampling.

    Args:
        mass: :math:`P(|\sum_{j \in \Lambda} w^*_j z_j - r| \le t)`, for every part, centre and width.
        errors: robust errors of the thresholded oracle at the radii.
        followed: its robust error at :math:`0.4\, k^{-\mathtt{power}}`.
    """

    mass: list[list[list[float]]]
    errors: list[float]
    followed: float


def run(config: ScoresConfig, generator: torch.Generator) -> ScoresResult:
    """Evaluate the formulas; nothing is drawn."""
    d, k = config.d, config.k
    laws = [ScoreLaw(k=k, D=math.ceil(part * d), d=d, small_rate=config.small_rate) for part in PARTS]
    whole = laws[0]
    return ScoresResult(
        mass=[[[law.near(t, r) for t in WIDTHS] for r in CENTRES] for law in laws],
        errors=[whole.robust_error(radius / math.sqrt(k)) for radius in RADII],
        followed=whole.robust_error(0.4 * k**-config.power),
    )


SCORES = Experiment(
    name="purification.scores",
    title="How much mass of the score lies near the boundary, and what does a thresholded classifier lose?",
    paper="purification",
    presets={
        "tiny": Preset(config=ScoresConfig(k=64), grid={"k": (64, 256, 1024)}, seeds=1, cell_seconds=0.4),
        "quick": Preset(
            config=ScoresConfig(k=64), grid={"k": (64, 256, 1024, 4096, 10_000)}, seeds=1, cell_seconds=0.55
        ),
        "full": Preset(
            config=ScoresConfig(k=64),
            grid={"k": (64, 256, 1024, 4096, 10_000, 40_000)},
            seeds=1,
            cell_seconds=3,
        ),
    },
    run=run,
)
