r"""Hypotheses of the lemmas on training after the lottery, for nets with one winner per feature."""

import math

from scipy import optimize

from karat.papers.purification.bounds_hypotheses import of_the_data
from karat.probes.lottery import TicketRule
from karat.study.hypothesis import Condition, at_least, at_most, waived


def of_the_second_phase(d: int, k: int, c0: float, bias_power: float) -> list[Condition]:
    r"""What the lemmas of Appendix C.4 ask of data and schedule.

    .. math:: k \le d^{0.499}, \quad k < d^{(1 - c_0)/2}, \quad b = k^{-(0.5 + c)}

    Args:
        d: input dimension.
        k: sparsity.
        c0: exponent of the width.
        bias_power: the threshold is :math:`k^{-\mathtt{bias\_power}}`.

    Ref: purification, Asm 2.1; purification, Def C.12
    """
    return [
        *of_the_data(d, k),
        at_most("Sec A: k <= d^((1 - c0)/2)", k, d ** ((1 - c0) / 2)),
        at_least("Def C.12: b = beta Xi2^2 = k^-(0.5 + c) with c > 0", bias_power, 0.5),
        waived(
            "Alg 1: noise rho drawn inside the loss", "'Equivalently, one can use the smoothed ReLU' (Sec 4)"
        ),
        waived(
            "Alg 1: gradient descent on one fixed set",
            "'Our result extends to stochastic gradient descent at the expense of complicating notations' "
            "(Sec 4.1)",
        ),
    ]


def of_winners(
    rule: TicketRule, threshold: float, alpha: float, beta: float, gamma: float, length: float
) -> list[Condition]:
    r"""What the lemmas ask of the neurons, where each is the winner of one feature or of none.

    .. math:: |\alpha| \ge b \sqrt{1 + c_2/c_1}, \quad
        \|w_i\|^2 \le \frac{\sigma_w^2 d}{\log^2 d}, \quad |\beta| \le \frac{\sigma_w}{\log d}, \quad
        |\beta| \le \frac{k}{d \beta_{++}} b, \quad \beta_{++} = \frac{\sigma_w}{\max_i \|w_i\|}

    and for :math:`|\gamma|` what they ask for :math:`|\beta|`.

    Args:
        rule: the levels.
        threshold: b.
        alpha: coefficient of every neuron in its feature.
        beta: in every other feature.
        gamma: coefficient in every feature of the neurons that hold none.
        length: of the longest neuron.

    Reading: the letter :math:`\beta` of S_ept++ and S_pot+ is the largest one with which all neurons are in
        S_ept++; the error terms of the lemmas have the same letter.

    Ref: purification, Def B.1; purification, Def B.3
    """
    width, log_d = rule.width(threshold), math.log(rule.d)
    other = max(abs(beta), abs(gamma))
    return [
        at_least("i in S_sure of its feature", alpha, rule.sure_level * threshold),
        at_most("S_ept+ = [m]: |w_i|^2 <= sigma_w^2 d/log(d)^2", length**2, width**2 * rule.d / log_d**2),
        at_most("S_ept+ = [m]: one coordinate beyond sigma_w/log d", other, width / log_d),
        at_most(
            "S_pot+ inside the first S_pot: others below (k/(d beta)) b",
            other,
            rule.k / rule.d * threshold * length / width,
        ),
    ]


def of_the_coupling() -> Condition:
    r"""The size of :math:`\alpha` in the linear net beside training, which is printed small and used large.

    Ref: purification, Def D.4; purification, Thm D.1
    """
    return waived(
        "Def D.4: alpha = o(1)",
        "'O(alpha^3 log(d)/Xi1^2 + alpha^2 log(d)/Xi1 + 1/alpha^2 + 1/Xi2^2)' is at most 'O(sqrt(log d)/"
        "sqrt(Xi1))' (proof of Thm D.1) for alpha of order (Xi1/log d)^(1/4), which is large",
    )


def short_neurons_from(length: float, c0: float) -> float:
    r"""From which :math:`\log_{10} d` on S_ept++ = [m] as printed, at :math:`b = \beta \Xi_2^2`.

    .. math:: \|w_i\| \le \sigma_w / \beta
        \quad\Longleftrightarrow\quad \|w_i\| \sqrt{c_1 \log d} \le \Xi_2^2 = d^{c_0/50}

    Args:
        length: of the longest neuron.
        c0: exponent of the width.

    Reading: :math:`\Xi_2 = d^{c_0/100}`, the largest of the remark after Lemma B.2, and :math:`c_1 = 2 + 2
        c_0`.

    >>> round(short_neurons_from(0.35, 1.0))
    42

    Ref: purification, Def B.3
    """

    def missing(log_d: float) -> float:
        return math.log(length * math.sqrt((2 + 2 * c0) * log_d)) - c0 / 50 * log_d

    low = 25 / c0  # where the left side less the right one is largest
    if missing(low) <= 0:
        return 0.0
    high = low
    while missing(high) > 0:
        high *= 2
    return float(optimize.brentq(missing, low, high)) / math.log(10)
