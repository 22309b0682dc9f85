"""Linear classifiers, and the thresholded one that knows the dictionary: what they tolerate."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, NonNegative, settings
from karat.data import SparseCode
from karat.papers.purification.experiments.draws import split
from karat.study.experiment import Experiment, Preset

CHUNK = 4_000_000
"""Entries of the inputs that are held at a time."""


@dataclass(frozen=True, kw_only=True)
@settings
class OraclesConfig:
    r"""The data with M = I, and the classifiers.

    Args:
        k: sparsity.
        d: dimension, None for the smallest with :math:`k \le d^{0.499}`.
        sigma_x: standard deviation of the Gaussian input noise.
        direction: of the linear classifier, :math:`w^*` or a random vector.
        radius: at which linear classifiers are attacked, over :math:`\sqrt{E z_1^2}`, of order
            :math:`1/\sqrt d`.
        n: test points.
    """

    k: Annotated[int, Ge(4)]
    d: Count | None = None
    sigma_x: NonNegative = 0.0
    direction: Literal["label", "random"] = "label"
    radius: NonNegative = 2.0
    n: Count = 2000

    def __post_init__(self) -> None:
        if self.k > self.dimension:
            owner = type(self).__name__
            raise ValueError(f"`k` of `{owner}` must be at most `d` = {self.dimension}, got {self.k}.")
        _ = self.code  # its own checks

    @property
    def dimension(self) -> int:
        """The dimension of the inputs."""
        return math.ceil(self.k ** (1 / 0.499)) if self.d is None else self.d

    @property
    def code(self) -> SparseCode:
        """The law of the codes."""
        return SparseCode(k=self.k, D=self.dimension)


@dataclass(frozen=True, kw_only=True)
class OraclesResult:
    """All classifiers on one set of test points.

    Args:
        linear_accuracy: of the linear classifier, without attack.
        linear_distance: mean l2 distance of the inputs from its decision boundary, exact.
        any_robust: share that is right and farther from the boundary than the radius, for the directions of
            the labels, of the first feature, of half of the labels and of a random vector.
        hard_accuracy: of the thresholded oracle, without attack.
        hard_robust: share that it classifies rightly wherever an attack of that radius leads, exact without
            noise.
    """

    linear_accuracy: float
    linear_distance: float
    any_robust: list[float]
    hard_accuracy: float
    hard_robust: float


def run(config: OraclesConfig, generator: torch.Generator) -> OraclesResult:
    """Draw labels, test points and directions, and count."""
    for_labels, for_codes, for_noise, for_direction = split(generator, 4)
    d = config.dimension
    w_star = torch.randint(2, (d,), generator=for_labels) * 2.0 - 1
    chance = torch.randn(d, generator=for_direction)
    half = torch.where(torch.arange(d) < d // 2, w_star, 0.0)
    first = torch.where(torch.arange(d) == 0, w_star, 0.0)
    along = torch.stack([w_star, first, half, chance])
    judged = 0 if config.direction == "label" else 3
    tau = config.radius * math.sqrt(config.code.second_moment)
    totals = torch.zeros(8, dtype=torch.float64)
    for x, z in _inputs(config, for_codes, for_noise):
        y = _sign(z @ w_star)
        distance = (x @ along.T) / torch.linalg.vector_norm(along, dim=1)
        kept = torch.where(x.abs() >= 0.5 / math.sqrt(config.k), x, 0.0)
        hard, on = kept @ w_star, (kept != 0).sum(dim=1)
        rows = (
            _sign(distance[:, judged]) == y,
            distance[:, judged].abs(),
            *(y.unsqueeze(1) * distance > tau).T,
            _sign(hard) == y,
            y * hard > tau * on.sqrt(),
        )
        totals += torch.stack([row.double().sum() for row in rows])
    shares = (totals / config.n).tolist()
    return OraclesResult(
        linear_accuracy=shares[0],
        linear_distance=shares[1],
        any_robust=shares[2:6],
        hard_accuracy=shares[6],
        hard_robust=shares[7],
    )


def _inputs(
    config: OraclesConfig, for_codes: torch.Generator, for_noise: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and their codes, some at a time."""
    d, at_a_time = config.dimension, max(1, CHUNK // config.dimension)
    for begin in range(0, config.n, at_a_time):
        count = min(at_a_time, config.n - begin)
        z = config.code.sample(count, generator=for_codes, dtype=torch.float32)
        noise = torch.randn(count, d, generator=for_noise) if config.sigma_x > 0 else torch.zeros(())
        yield z + config.sigma_x / math.sqrt(d) * noise, z


def _sign(values: Tensor) -> Tensor:
    """Signs, of which that of 0 is +1."""
    return torch.where(values >= 0, 1.0, -1.0)


NOISY = {"k": 8, "d": 100_000, "sigma_x": 1.0, "n": 500}
r"""Noise longer than the signal, in a dimension far beyond :math:`8 k \sigma_x^2 \log d`."""

ORACLES = Experiment(
    name="purification.oracles",
    title="What do a linear and a thresholded classifier tolerate that know the dictionary?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=OraclesConfig(k=12, n=500),
            points=({"k": 12}, {"k": 16}, {"k": 24}, NOISY | {"d": 4096}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=OraclesConfig(k=16),
            points=({"k": 16}, {"k": 32}, {"k": 64}, {"k": 128}, NOISY),
            seeds=3,
            cell_seconds=0.13,
        ),
        "full": Preset(
            config=OraclesConfig(k=16, n=10_000),
            points=({"k": 16}, {"k": 32}, {"k": 64}, {"k": 128}, {"k": 256}, NOISY | {"n": 4000}),
            seeds=10,
            cell_seconds=5,
        ),
    },
    run=run,
)
