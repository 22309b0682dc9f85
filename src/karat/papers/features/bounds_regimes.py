r"""Conditions of the statements of features with their numbers, hidden constants read as 1.

Symbols: :math:`m` is `pairs`, :math:`\gamma` `label_corr`, :math:`\delta` `p_fail`, :math:`\epsilon` `tol`.
"""

import math

from karat.core.extended import ratio
from karat.study.hypothesis import Condition, at_least, at_most, is_so


def theorem1(*, k: int, D: int, pairs: int, p_o: float, label_corr: float) -> list[Condition]:
    r"""Return the conditions of Theorem 1 on sizes, with tol = p_fail = 1/2.

    .. math::

        k \ge \log^2(D / (\delta\gamma)), \quad p_o \ge k^2 / D, \quad m \ge \max(k^{12}/\epsilon^{3/2}, D)

    Args:
        k: relevant patterns.
        D: patterns.
        pairs: of neurons.
        p_o: probability of a background pattern.
        label_corr: of a relevant pattern with the label.

    Ref: features, Thm 1
    """
    if label_corr <= 0:
        return [is_so("Asm A1: label_corr > 0", False)]
    return [
        at_least("Thm 1: k >= log^2(D/(p_fail label_corr))", k, math.log(D / (0.5 * label_corr)) ** 2),
        at_least("Thm 1: p_o >= k^2/D", p_o, k**2 / D),
        at_least("Thm 1: m >= max(k^12/tol^(3/2), D)", pairs, max(k**12 / 0.5**1.5, D)),
    ]


def lemma15(*, k: int, D: int, pairs: int, p_o: float, noise: float) -> list[Condition]:
    r"""Return the conditions of the full version of Lemma 6, with p_fail = 1/2.

    .. math:: k \ge \log^2(D m / \delta), \quad p_o \ge k^2 / D, \quad \sigma_\xi < 1/k

    Args:
        k: relevant patterns.
        D: patterns.
        pairs: of neurons.
        p_o: probability of a background pattern.
        noise: :math:`\sigma_\xi`, of the neurons.

    Ref: features, Lem 15
    """
    return [
        at_least("Lem 15: k >= log^2(D m/p_fail)", k, math.log(D * pairs / 0.5) ** 2),
        at_least("Lem 15: p_o >= k^2/D", p_o, k**2 / D),
        is_so("Lem 15: sigma_xi < 1/k", noise < 1 / k),
    ]


def lemma23(*, k: int, D: int, pairs: int, p_o: float, label_corr: float) -> list[Condition]:
    r"""Return the conditions of Lemma 23, with p_fail = 1/k^3, the largest it allows.

    .. math:: k \ge \log^2(D m / (\delta\gamma)), \quad p_o \ge k^2 / D, \quad m \ge \max(k^4, D)

    Args:
        k: relevant patterns.
        D: patterns.
        pairs: of neurons.
        p_o: probability of a background pattern.
        label_corr: of a relevant pattern with the label.

    Ref: features, Lem 23
    """
    size = math.log(D * pairs * k**3 / label_corr)
    return [
        at_least("Lem 23: k >= log^2(D m/(p_fail label_corr))", k, size**2),
        at_least("Lem 23: p_o >= k^2/D", p_o, k**2 / D),
        at_least("Lem 23: m >= max(k^4, D)", pairs, max(k**4, D)),
    ]


def theorem34(
    *, k: int, d: int, D: int, pairs: int, p_o: float, label_corr: float, p_min: float, sigma_zeta: float
) -> list[Condition]:
    r"""Return the conditions of Theorem 34 on sizes and noise, with p_fail = 1/k^3, its largest.

    .. math::

        k \ge \log^2\frac{D m d}{\delta \gamma p_{\min}}, \quad m \ge \max(k^4, D, d), \quad
        \sigma_\zeta \le \min(1/\tilde\sigma, \tilde\sigma/\sqrt d)

    Args:
        k: relevant patterns.
        d: input dimension.
        D: patterns.
        pairs: of neurons.
        p_o: probability of a background pattern.
        label_corr: of a relevant pattern with the label.
        p_min: probability of the rarer class.
        sigma_zeta: standard deviation of the input noise.

    Reading: :math:`\tilde\sigma^2 = D p_o (1 - p_o) + d \sigma_\zeta^2`, the relevant patterns counted like
    the others.

    Ref: features, Thm 34
    """
    scale = math.sqrt(D * p_o * (1 - p_o) + d * sigma_zeta**2)
    size = math.log(D * pairs * d * k**3 / (label_corr * p_min))
    noise = min(ratio(1, scale), scale / math.sqrt(d))
    return [
        at_least("Thm 34: k >= log^2(D m d/(p_fail label_corr p_min))", k, size**2),
        at_least("Thm 34: m >= max(k^4, D, d)", pairs, max(k**4, D, d)),
        at_most("Thm 34: sigma_zeta <= min(1/sigma~, sigma~/sqrt(d))", sigma_zeta, noise),
    ]


def theorem2(*, k: int, D: int, p_o: float) -> list[Condition]:
    r"""Return the conditions of Theorem 2: k odd and :math:`3 < k \le D/16`.

    Args:
        k: relevant patterns.
        D: patterns.
        p_o: share of coins in the mixture, for which only 1/2 is in the paper's own family.

    Ref: features, Thm 2
    """
    return [
        is_so("Thm 2: k odd and above 3", k % 2 == 1 and k > 3),
        at_most("Thm 2: k <= D/16", k, D / 16),
        is_so("Asm A2: the mixture of Thm 2 is in the family for p_o = 1/2 only", p_o == 0.5),
    ]


def theorem29(*, k: int, D: int) -> list[Condition]:
    r"""Return the conditions of Theorem 29: k odd and :math:`k \le D/16`.

    Args:
        k: relevant patterns.
        D: patterns.

    Ref: features, Thm 29
    """
    return [is_so("Thm 29: k odd", k % 2 == 1), at_most("Thm 29: k <= D/16", k, D / 16)]
