"""Settings and results of training after the lottery: one winner per feature, any dimension."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from karat.core.ranges import Count, Moderate, Positive, Power, Steps, settings
from karat.data.sparse_code import SparseCode
from karat.papers.purification.bounds import GAMMA
from karat.probes.lottery import TicketRule
from karat.reductions.symmetric import Problem, SymmetricNet
from karat.training.odd import OddTrainer, ProportionalNoise, RelativeStep, ShrinkingNoise

SCALES = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Factors of weights, threshold and noise: nets of the same shape that are steeper in every coordinate."""


@dataclass(frozen=True, kw_only=True)
@settings
class PhaseTwoConfig:
    r"""Data, net and training from small singletons :math:`w_i = \alpha_0 w^*_i M_i`.

    Args:
        d: dimension of the inputs and number of features.
        k_power: the sparsity is :math:`k = d^{\mathtt{k\_power}}`.
        c0: exponent of the width, :math:`m = d^{1 + c_0}`; neurons beyond d hold no feature.
        large_rate: expected number of codes of size one.
        small_rate: expected number of small codes over k.
        small_spread: largest small code in units of :math:`1/\sqrt k`.
        bias_power: the threshold is :math:`b = k^{-\mathtt{bias\_power}}`.
        noise: neuron noise over the threshold, None for the printed schedule.
        decay_power: the regulariser's weight is :math:`\lambda = d^{-(1 + \mathtt{decay\_power})}`.
        lead: the start is :math:`\alpha_0 = \mathtt{lead}\, k^{\mathtt{lead\_power}}\, b`.
        lead_power: see `lead`.
        step: size of a step in rescaled time.
        steps: of training.
        batch: fresh points per step, each averaged over all permutations of the features.
        n_test: points of the expectations.
        n_few: points of the numbers that need several passes.
        labels: by which growth is measured: the true ones, the sign of a neuron's own code, or a coin's.
        gap: inputs with a score below it are left out of the mean slope of the loss.
        coupling_power: :math:`\mu^*_i = \alpha w^*_i M_i` with :math:`\alpha =
            k^{\mathtt{coupling\_power}}`.
    """

    d: Annotated[int, Ge(100)]
    k_power: Annotated[float, Lt(0.5)] = 0.3
    c0: Annotated[float, Ge(0), Le(1)] = 1e-4
    large_rate: Positive = 1.0
    small_rate: Positive = 1.0
    small_spread: Annotated[float, Gt(1)] = 1.5
    bias_power: Power = 0.8
    noise: Moderate | None = None
    decay_power: Power = 0.0
    lead: Moderate = 2.0
    lead_power: Annotated[float, Ge(-10), Le(10)] = 0.0
    step: Positive = 0.4
    steps: Steps = 64
    batch: Count = 32
    n_test: Count = 600
    n_few: Count = 40
    labels: Literal["true", "own", "coin"] = "true"
    gap: Annotated[float, Ge(0), Le(1e3)] = 0.0
    coupling_power: Power = 0.5

    def __post_init__(self) -> None:
        _ = self.code  # its own checks

    @property
    def k(self) -> int:
        """Sparsity of the code."""
        return max(1, math.floor(self.d**self.k_power))

    @property
    def m(self) -> int:
        """Pairs of neurons."""
        return max(self.d, round(self.d ** (1 + self.c0)))

    @property
    def code(self) -> SparseCode:
        """The law of the codes."""
        return SparseCode(
            k=self.k,
            D=self.d,
            large_rate=self.large_rate,
            small_rate=self.small_rate,
            small_spread=self.small_spread,
        )

    @property
    def rule(self) -> TicketRule:
        """The levels of the lottery's sets."""
        return TicketRule(c0=max(self.c0, 1e-12), d=self.d, k=self.k, gamma=GAMMA)

    @property
    def coupling(self) -> float:
        r"""The paper's :math:`\alpha` in :math:`\mu^*`."""
        return float(self.k**self.coupling_power)

    @property
    def threshold(self) -> float:
        """The paper's b, at the end of its growth."""
        return float(self.k**-self.bias_power)

    def problem(self, seed: int) -> Problem:
        """Clean training from singletons.

        Args:
            seed: of its batches.
        """
        printed = ShrinkingNoise(d=self.d, first_phase=0.0)
        alpha = self.lead * self.k**self.lead_power * self.threshold
        return Problem(
            trainer=OddTrainer(
                step=RelativeStep(size=self.step),
                decay=self.d**-self.decay_power,
                noise=printed if self.noise is None else ProportionalNoise(ratio=self.noise),
            ),
            start=SymmetricNet(d=self.d, alpha=alpha, threshold=self.threshold, hubs=self.m - self.d),
            code=self.code,
            batch=self.batch,
            seed=seed,
        )


@dataclass(frozen=True, kw_only=True)
class PhaseTwoResult:
    r"""Training after the lottery, lists over the stops; growth is that of one half of a pair, times d.

    Args:
        time: rescaled time of the stops.
        alpha: pure part of every neuron.
        beta: its coefficient in every other feature.
        gamma: coefficient in every feature of the neurons that hold none.
        length: of the longest neuron.
        noise: standard deviation :math:`\sigma_\rho` of the neuron noise.
        explicit: :math:`\frac d4 P(|z_j| = 1) E[y | z_j = 1]`, growth by codes of size one with l' = 1/2.
        own: growth :math:`d\,E[y\, \ell' 1[\langle w_i, x \rangle + \rho_i \ge b]\, z_j]` of a winner of j.
        others: largest size of it for a neuron that is no potential winner of j.
        lipschitz: :math:`L_{t,j}`, the largest change of f by one code over the code's size.
        excess: what neurons without the feature can add to it.
        own_noise: :math:`\frac{d}{\sigma_x^2} |E[y\, \ell' 1[\cdot]\, \langle \xi, M_j \rangle]|` of a winner
            of j.
        other_noise: the same for a neuron that is none.
        output: largest :math:`|f|`.
        slope: mean of l'.
        slopes: mean of l' at the last stop, of nets steeper by the factors `SCALES`.
        unmatched: probability that :math:`g_{t,1}(\mu^*)` differs from :math:`\alpha \langle w^*, z \rangle`
            at the last stop, at most; its logarithm.
        rest: largest :math:`|g_{t,4}|` at the last stop.
        deviation: largest :math:`|g_t(\mu^*) - \alpha \langle w^*, z \rangle|` there.
    """

    time: list[float]
    alpha: list[float]
    beta: list[float]
    gamma: list[float]
    length: list[float]
    noise: list[float]
    explicit: float
    own: list[float]
    others: list[float]
    lipschitz: list[float]
    excess: list[float]
    own_noise: list[float]
    other_noise: list[float]
    output: list[float]
    slope: list[float]
    slopes: list[float]
    unmatched: float
    rest: float
    deviation: float
