"""A small signal in every feature at once: how much of it do linear and thresholded units pass on?"""

from dataclasses import dataclass

import torch

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.data import SparseCode, SparseCoding
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class DenseSignalConfig:
    r"""Inputs :math:`x = M z + \xi`, and a signal of size :math:`\text{level} / (2 \sqrt k)` in each feature.

    Args:
        d: dimension.
        k: sparsity.
        level: size of the signal in one feature, in units of the paper's threshold.
        bias: of the ReLU in the same units; without it the unit is linear.
        sigma_x: input noise.
    """

    d: Count
    k: Count
    level: Positive
    bias: NonNegative = 1.0
    sigma_x: NonNegative = 0.5

    def __post_init__(self) -> None:
        SparseCode(k=self.k, D=self.d)  # refuses a sparsity that has no law


@dataclass(frozen=True, kw_only=True)
class PassedShares:
    r"""Share of the signal that reaches :math:`\sum_i w^*_i \phi(\langle M_i, x \rangle)`, mean over inputs.

    Args:
        linear: with :math:`\phi(u) = u`.
        relu: with :math:`\phi(u) = \mathrm{ReLU}(u - b) - \mathrm{ReLU}(-u - b)`.
    """

    linear: float
    relu: float


def run(config: DenseSignalConfig, generator: torch.Generator) -> PassedShares:
    r"""Add the signal to 500 inputs, against their labels, and see what comes out of the units.

    The pair of ReLUs with bias b is :math:`u - \max(-b, \min(u, b))`, which is u itself for b = 0.

    Ref: purification, Sec 3
    """
    threshold = 0.5 * config.k**-0.5
    model = SparseCoding.draw(d=config.d, k=config.k, sigma_x=config.sigma_x, generator=generator)
    sample = model.sample(500, generator=generator)
    signal = -config.level * threshold * sample.y.unsqueeze(1) * model.w_star.sign()
    before, after = sample.x @ model.M, (sample.x + signal @ model.M.T) @ model.M

    def passed(b: float) -> float:
        change = (after - after.clamp(-b, b)) - (before - before.clamp(-b, b))
        return float((change @ model.w_star / (signal @ model.w_star)).mean())

    return PassedShares(linear=passed(0.0), relu=passed(config.bias * threshold))


SPARSITY = 0.45
r"""Codes get sparser like :math:`k = d^{0.45}`, inside Assumption 2.1's :math:`k \le d^{0.499}`."""

LEVELS = {"level": (0.25, 0.5, 1.0, 2.0, 4.0)}


def _sizes(*dimensions: int) -> tuple[dict[str, int], ...]:
    return tuple({"d": d, "k": int(d**SPARSITY)} for d in dimensions)


DENSE_SIGNAL = Experiment(
    name="purification.dense_signal",
    title="How much of a small dense signal do linear and thresholded units pass on?",
    paper="purification",
    presets={
        scale: Preset(
            config=DenseSignalConfig(d=400, k=14, level=0.5),
            points=points,
            grid=LEVELS,
            seeds=seeds,
            cell_seconds=0.05,
        )
        for scale, points, seeds in (
            ("tiny", _sizes(50, 100, 200), 2),
            ("quick", _sizes(100, 300, 900), 3),
            ("full", _sizes(100, 300, 900, 2700), 10),
        )
    },
    run=run,
)
