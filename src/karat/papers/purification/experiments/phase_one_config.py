"""Settings and results of the lottery's first phase inside its own regime."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from karat.core.ranges import Count, Moderate, NonNegative, Power, Steps, settings
from karat.data import SparseCode
from karat.papers.purification.bounds import GAMMA, Times
from karat.probes.lottery import TicketRule
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
@settings
class PhaseConfig:
    r"""Data, sampled neurons and schedule, in units of :math:`\sigma_0` and in the limit of small ones.

    Args:
        d: dimension of the inputs and number of features.
        k: sparsity of the code.
        c0: exponent of the width, m = d^(1 + c0); only the levels depend on it.
        sure: sampled neurons that begin as sure winners of some feature.
        wrong: those that would be sure winners if its sign were not wrong.
        typical: neurons drawn without any condition.
        large_rate: expected number of codes of size one.
        small_rate: expected number of small codes over k.
        small_spread: largest small code in units of :math:`1/\sqrt k`.
        sigma_x: size of the Gaussian input noise.
        bias_share: speed C of the bias over that of a winner.
        noise: constant of the printed schedule of neuron noise.
        threshold: first threshold in units of the printed one.
        length: how long to train, in units of T_b.
        labels: "own" labels inputs by the neuron's own projection, "coin" by chance, both as controls.
        small_start: exponent of the start, sigma_0 = d^-small_start, where its size is asked for.
        grown: multiple of :math:`\sqrt k\, b` from which on a winner counts as grown.
        stretch: factor by which b grows while ordinary coordinates stand still; near the start a twelfth of
            the way.
        substeps: steps of Algorithm 1 in that time.
        n: inputs per expectation.
        n_test: inputs of the accuracy.
    """

    d: Annotated[int, Gt(100)]
    k: Count
    c0: Annotated[float, Gt(0), Le(1)] = 0.35
    sure: Count = 12
    wrong: Count = 4
    typical: Count = 6
    large_rate: Moderate = 0.1
    small_rate: Moderate = 0.08
    small_spread: Annotated[float, Gt(1)] = 1.5
    sigma_x: NonNegative = 0.5
    bias_share: Moderate = 0.25
    noise: Moderate = 0.1
    threshold: Moderate = 1.0
    length: NonNegative = 1.0
    labels: Literal["true", "own", "coin"] = "true"
    small_start: Power = 2.0
    grown: Moderate = 2.0
    stretch: Annotated[float, Ge(1.01)] = 1.2
    substeps: Count = 8
    n: Count = 250
    n_test: Steps = 2000

    def __post_init__(self) -> None:
        _ = self.code  # its own checks

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
        return TicketRule(c0=self.c0, d=self.d, k=self.k, gamma=GAMMA)

    @property
    def m(self) -> int:
        """Pairs of neurons of the whole net."""
        return round(self.d ** (1 + self.c0))

    @property
    def first_threshold(self) -> float:
        r""":math:`b_0 / \sigma_0 = \sqrt{c_1 \log d}`, times the factor `threshold`."""
        return self.threshold * math.sqrt(self.rule.c1 * math.log(self.d))

    def phases(self) -> Times:
        r"""T_a and T_b as growth of the threshold, in units of :math:`\sigma_0`.

        .. math:: C\,\eta\, T_a / d = \sigma_0 \log^{2.5} d, \qquad C\,\eta\, T_b / d = \sigma_0 \, d / k

        Reading: the constant of both :math:`\Theta(\cdot)` is 1/C, with the speed C of the bias: the proof
            needs :math:`\sigma_w \ge \sigma_0 \log^2 d` at T_a and :math:`\sigma_w \sqrt{\log d} \ge
            \sigma_0 d / k` at T_b.

        Ref: purification, Thm C.1
        """
        late = math.inf
        return Times(T_a=math.log(self.d) ** 2.5, T_b=self.d / self.k, T_e=late, T_c=late, T_g=late)


_NO_WINNER = Undefined("no sampled neuron is a sure winner at this stop")
_TOO_EARLY = Undefined("neurons whose feature is off may still be awake")
_NONE_GROWN = Undefined("no winner has grown enough at this stop")


@dataclass(frozen=True, kw_only=True)
class PhaseResult:
    r"""Growth over the first phase, lists over the stops; growth is that of one half of a pair, times d.

    Args:
        explicit: the growth :math:`\frac d2 P(|z_j| = 1) E[y | z_j = 1]` of a winner by codes of size one.
        most_possible: the trivial limit :math:`d \, E|z_j| / 2` of any growth.
        steps: steps of Algorithm 1 up to the stops.
        passed: growth of the threshold so far, in units of sigma_0.
        threshold: b over sigma_0.
        sure_kept: share of the first sure winners that still are.
        looked_at: share of the sampled neurons in S_ept before T_a, in S_ept+ from then on; if there are any,
            everything up to `rest` is of these alone.
        sure_least: smallest growth of a neuron that is a sure winner at the stop.
        sure_most: largest growth of one.
        winner_least: smallest growth of the first sure winners.
        winner_most: largest growth of them.
        lead_least: smallest leading coordinate of the first sure winners over b.
        lead_most: largest leading coordinate of them over b.
        largest: largest |growth| of any coordinate of any neuron.
        others: largest |growth| of a coordinate that is no potential winner.
        awake: largest probability of one half of a pair to be awake.
        beyond: largest certified bound on the probability of a projection beyond b/10.
        printed_beyond: largest probability of one beyond the printed level (c2/10 c1) b, on sampled inputs.
        tail: largest certified bound on that of one beyond sigma_w.
        early_tail: largest P(|<w_i, x>| >= lambda sigma_w) over what Lemma C.4(a) prints, on sampled inputs.
        edge: largest :math:`|E[y \varphi]|` at the edge of a half, which noise growth is in proportion to.
        ept: share of neurons in S_ept.
        ept_plus: share in S_ept+.
        ept_plus_plus: share in S_ept++.
        no_new_plus: share of neurons without a coordinate in S_pot+ that was not in S_pot at the start.
        rest: largest |<w_i, x>| over b, the leading features left out.
        counted: most neurons of a whole net that one input brings beyond b/10.
        spread: largest deviation of a grown winner's growth from the common one, over it.
        grown: how many winners have grown.
        accuracy: of a net with one sure winner per feature, once all others are asleep.
        output: largest |f| of that net, in units of sigma_0.
    """

    explicit: float
    most_possible: float
    steps: list[int]
    passed: list[float]
    threshold: list[float]
    sure_kept: list[float]
    looked_at: list[float]
    sure_least: Annotated[list[float], _NO_WINNER]
    sure_most: Annotated[list[float], _NO_WINNER]
    winner_least: list[float]
    winner_most: list[float]
    lead_least: list[float]
    lead_most: list[float]
    largest: list[float]
    others: list[float]
    awake: list[float]
    beyond: list[float]
    printed_beyond: list[float]
    tail: list[float]
    early_tail: list[float]
    edge: list[float]
    ept: list[float]
    ept_plus: list[float]
    ept_plus_plus: list[float]
    no_new_plus: list[float]
    rest: list[float]
    counted: list[float]
    spread: Annotated[list[float], _NONE_GROWN]
    grown: list[int]
    accuracy: Annotated[list[float], _TOO_EARLY]
    output: Annotated[list[float], _TOO_EARLY]
