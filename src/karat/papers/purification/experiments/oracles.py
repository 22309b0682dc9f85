"""Classifiers that are told the dictionary: what a linear one and a thresholded one tolerate."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge

from karat.core.ball import Ball
from karat.core.ranges import Count, NonNegative, settings
from karat.data import SparseCoding
from karat.nets import Linear
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import share
from karat.papers.purification.experiments.ties import TiesToPlus, ties_to_plus
from karat.probes.oracle import HardThreshold
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class OraclesConfig:
    r"""The data, and the two classifiers.

    Args:
        k: sparsity.
        d: dimension, None for the smallest with :math:`k \le d^{0.499}`.
        sigma_x: standard deviation of the Gaussian input noise.
        direction: of the linear classifier, :math:`M w^*` or a random vector.
        power: of the radius :math:`\tau = k^{-\mathtt{power}}` at which the thresholded one is attacked.
        n: test points.
    """

    k: Annotated[int, Ge(4)]
    d: Count | None = None
    sigma_x: NonNegative = 0.0
    direction: Literal["label", "random"] = "label"
    power: NonNegative = 1.0
    n: Count = 2000

    @property
    def dimension(self) -> int:
        """The dimension of the inputs."""
        return math.ceil(self.k ** (1 / 0.499)) if self.d is None else self.d


@dataclass(frozen=True, kw_only=True)
class OraclesResult:
    """Both classifiers on one set of test points.

    Args:
        linear_accuracy: of the linear classifier, without attack.
        linear_distance: mean l2 distance of the inputs from its decision boundary, exact.
        hard_accuracy: of the thresholded oracle, without attack.
        hard_attacked: share that the best perturbation found leaves it.
        hard_certified: share on which it is proven robust.
    """

    linear_accuracy: float
    linear_distance: float
    hard_accuracy: float
    hard_attacked: float
    hard_certified: float


def run(config: OraclesConfig, generator: torch.Generator) -> OraclesResult:
    """Draw a model and test points, and measure both classifiers on them."""
    for_model, for_test, for_direction = split(generator, 3)
    model = SparseCoding.draw(
        d=config.dimension,
        k=config.k,
        generator=for_model,
        dictionary="identity",
        w_star="signs",
        sigma_x=config.sigma_x,
    )
    test = model.sample(config.n, generator=for_test)
    along = model.dense_direction.double()
    if config.direction == "random":
        along = torch.randn(config.dimension, generator=for_direction, dtype=torch.float64)
    score = Linear(along)(test.x)
    hard = HardThreshold(model.M, model.w_star, 0.5 / math.sqrt(config.k))
    ends = hard.worst_margin(test.x, test.y, Ball(2, config.k**-config.power))
    certified, attacked = (share(ties_to_plus(end, test.y) > 0) for end in ends)
    return OraclesResult(
        linear_accuracy=share(ties_to_plus(test.y * score, test.y) > 0),
        linear_distance=float(score.abs().mean() / torch.linalg.vector_norm(along)),
        hard_accuracy=share(TiesToPlus(hard).margin(test.x, test.y) > 0),
        hard_attacked=attacked,
        hard_certified=certified,
    )


NOISY = {"k": 8, "d": 2048, "sigma_x": 1.0}
r"""Noise longer than the signal, in a dimension with :math:`d \ge 8 k \sigma_x^2 \log d`."""

ORACLES = Experiment(
    name="purification.oracles",
    title="What do a linear and a thresholded classifier tolerate that know the dictionary?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=OraclesConfig(k=8, n=500),
            points=({"k": 8}, {"k": 12}, {"k": 16}, NOISY | {"d": 512}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=OraclesConfig(k=8),
            points=({"k": 8}, {"k": 16}, {"k": 32}, {"k": 48}, NOISY),
            seeds=3,
            cell_seconds=1,
        ),
        "full": Preset(
            config=OraclesConfig(k=8, n=10_000),
            points=({"k": 8}, {"k": 16}, {"k": 32}, {"k": 64}, NOISY | {"d": 4096}),
            seeds=10,
            cell_seconds=15,
        ),
    },
    run=run,
)
