"""Lottery tickets: which neuron leans on which feature, by thresholds that move with the bias."""

import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt, Le
from torch import Tensor

from karat.core.ranges import Positive, checked


@dataclass(frozen=True, kw_only=True)
@checked
class TicketRule:
    r"""Levels of sure and potential tickets in units of the present threshold b.

    .. math:: c_1 = 2 + 2 (1 - \gamma) c_0, \qquad c_2 = \gamma c_0, \qquad
              \text{sure: } b \sqrt{1 + c_2 / c_1}, \qquad \text{potential: } b \sqrt{1 - c_2 / c_1}

    Args:
        c0: the width is :math:`m = d^{1 + c_0}`.
        d: dimension.
        k: sparsity.
        gamma: the proof's slack, in (0, 0.1].

    Reading: :math:`\sigma_w(t) := b(t) / \sqrt{c_1 \log d}`, so the levels follow b(t), not sigma_0.
        :math:`\Xi_2 = d^{2 \gamma c_0}` and :math:`\beta = 1 / (\sqrt k\, \Xi_2^{10})`, where the text prints
        a root over both.

    Ref: purification, Def B.1; purification, Def B.3; purification, Lemma B.2
    """

    c0: Positive
    d: int
    k: int
    gamma: Annotated[float, Gt(0), Le(0.1)] = 0.05

    @property
    def c1(self) -> float:
        r""":math:`2 + 2 (1 - \gamma) c_0`."""
        return 2 + 2 * (1 - self.gamma) * self.c0

    @property
    def c2(self) -> float:
        r""":math:`\gamma c_0`."""
        return self.gamma * self.c0

    @property
    def sure_level(self) -> float:
        """Multiple of b that a sure winner's coefficient reaches."""
        return math.sqrt(1 + self.c2 / self.c1)

    @property
    def potential_level(self) -> float:
        """Multiple of b that a potential winner's coefficient reaches."""
        return math.sqrt(1 - self.c2 / self.c1)

    @property
    def xi2(self) -> float:
        r""":math:`\Xi_2 = d^{2 \gamma c_0}`, the bound on the tickets of one feature."""
        return float(self.d ** (2 * self.gamma * self.c0))

    @property
    def beta(self) -> float:
        r""":math:`\beta = 1 / (\sqrt k\, \Xi_2^{10})`."""
        return 1 / (math.sqrt(self.k) * self.xi2**10)

    def width(self, threshold: float) -> float:
        r""":math:`\sigma_w = b / \sqrt{c_1 \log d}`."""
        return threshold / math.sqrt(self.c1 * math.log(self.d))


@dataclass(frozen=True, eq=False)
class Tickets:
    """Masks (m, D): whether neuron i is a winner of feature j, in four senses.

    Args:
        sure: S_sure.
        potential: S_pot.
        potential_plus: S_pot+.
        sure_plus: S_sure+.
    """

    sure: Tensor
    potential: Tensor
    potential_plus: Tensor
    sure_plus: Tensor


def tickets(coefficients: Tensor, w_star: Tensor, threshold: float, rule: TicketRule) -> Tickets:
    r"""The sets S_sure, S_pot, S_pot+, S_sure+ at the present threshold.

    Args:
        coefficients: (m, D) :math:`\langle w_i, M_j \rangle`.
        w_star: (D,) label vector.
        threshold: b > 0.
        rule: the levels.

    Reading: S_pot has no condition on the sign, S_sure has.

    Ref: purification, Def B.1; purification, Def B.3
    """
    size, right = coefficients.abs(), coefficients * w_star.to(coefficients) > 0
    potential = size >= rule.potential_level * threshold
    # A sure winner has no second feature that could still overtake the first.
    alone = potential.sum(dim=1, keepdim=True) == 1
    return Tickets(
        sure=(size >= rule.sure_level * threshold) & alone & right,
        potential=potential,
        potential_plus=size >= rule.k / (rule.d * rule.beta) * threshold,
        sure_plus=(size >= 2 * math.sqrt(rule.k) * threshold) & right,
    )


@dataclass(frozen=True, eq=False)
class Ordinary:
    """Masks (m,) of neurons that are small in all but a few coordinates, in three growing senses.

    Args:
        ept: S_ept.
        ept_plus: S_ept+.
        ept_plus_plus: S_ept++.
    """

    ept: Tensor
    ept_plus: Tensor
    ept_plus_plus: Tensor


def ordinary_neurons(coefficients: Tensor, threshold: float, rule: TicketRule, most: int = 3) -> Ordinary:
    r"""The sets S_ept, S_ept+, S_ept++ at the present threshold.

    Args:
        coefficients: (m, D) :math:`\langle w_i, M_j \rangle`.
        threshold: b > 0.
        rule: the levels.
        most: what O(1) many coordinates means.

    Reading: O(1) is `most` (the proof's own 20/c0 exceeds any count met here), :math:`\Omega(d / \log d)` is
        :math:`d / (10 \log d)`.

    Ref: purification, Def B.1; purification, Def B.3
    """
    log_d = math.log(rule.d)
    width, size = rule.width(threshold), coefficients.abs()
    squared = size.square().sum(dim=1)
    ept = (
        (squared <= 2 * width**2 * rule.d)
        & ((size >= rule.potential_level * threshold).sum(dim=1) <= most)
        & ((size.square() >= 2 * width**2 * math.sqrt(log_d)).sum(dim=1) <= 2 ** -math.sqrt(log_d) * rule.d)
        & ((size <= width / log_d).sum(dim=1) >= rule.d / (10 * log_d))
    )
    few = (size >= width / log_d).sum(dim=1) <= most
    return Ordinary(ept, few & (squared <= width**2 * rule.d / log_d**2), squared <= (width / rule.beta) ** 2)


@dataclass(frozen=True, eq=False)
class FiniteTickets:
    r"""Finite-size stand-ins for tickets, at initialisation: ours, not the sets of the theory.

    The signed coefficient of neuron i on feature j is
    :math:`\langle w_i, M_j \rangle \operatorname{sign}(w^*_j)`.

    Args:
        favourite: (m,) feature of the largest signed coefficient.
        likely: (m, D) signed coefficient at least 0.8 b0.
        clear: (m,) largest signed coefficient at least b0 and the second below 0.85 b0.

    Reading: at log d = 5 the window between the paper's two levels is empty of neurons. A coefficient of the
        wrong sign cannot win, so the stand-ins look at signed ones.
    """

    favourite: Tensor
    likely: Tensor
    clear: Tensor


def finite_tickets(coefficients: Tensor, w_star: Tensor, threshold: float) -> FiniteTickets:
    r"""Stand-ins at initialisation, from the signed coefficients and the initial threshold b0.

    Args:
        coefficients: (m, D) :math:`\langle w_i, M_j \rangle`.
        w_star: (D,) label vector.
        threshold: b0.
    """
    signed = coefficients * w_star.to(coefficients).sign()
    top = signed.topk(min(2, signed.shape[1]), dim=1)
    second = top.values[:, -1]
    clear = (top.values[:, 0] >= threshold) & (second < 0.85 * threshold)
    return FiniteTickets(top.indices[:, 0], signed >= 0.8 * threshold, clear)


def inclusion(inner: Tensor, outer: Tensor) -> float:
    """Share of the members of one set that also belong to another; 1 for an empty set.

    >>> import torch
    >>> inclusion(torch.tensor([True, True]), torch.tensor([True, False]))
    0.5
    """
    count = int(inner.sum())
    return float((inner & outer).sum()) / count if count else 1.0
