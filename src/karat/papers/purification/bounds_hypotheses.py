r"""Hypotheses of purification's theorems, each with both sides in numbers.

Reading: constants hidden in :math:`O(\cdot)` and :math:`\Theta(\cdot)` are 1. Times are the sums of the
    steps, :math:`\eta T`, which are the same for every learning rate.
"""

import math
from dataclasses import dataclass

from karat.papers.purification.bounds import (
    GAMMA,
    clean_failure_radius,
    l2_window,
    l_inf_radii,
    regularisation,
    robust_radius,
    sure_winners_from,
    ticket_counts,
    universal_radius,
    xi2,
)
from karat.study.hypothesis import Condition, at_least, at_most, is_so, not_checkable, waived

SLACK = 0.001
"""The largest small constant c that the theorems name."""


@dataclass(frozen=True, kw_only=True)
class TheoremSetting:
    r"""Everything the theorems ask about.

    Args:
        d: input dimension.
        k: sparsity.
        m: pairs of neurons.
        sigma_x: standard deviation of the Gaussian input noise.
        p: norm of the attacks in training, 2 or inf.
        tau: radius of the attacks in training.
        lam: weight :math:`\lambda` of the regulariser.
        random_start: whether the first rows are small and Gaussian.
        ticket: first threshold over :math:`\sigma_0 \sqrt{2 \log d}`.
        sampled_noise: whether rho is drawn inside the loss.
        paper_schedule: whether bias and noise follow the printed schedules.
        axis_dictionary: whether the features lie along the axes.
        clean_time: :math:`\eta T_f / d` of clean training.
        robust_time: :math:`\eta T_g / d` of adversarial training.
        bias_power: the threshold is :math:`k^{-\mathtt{bias\_power}}` from the start on, with the noise of
            the second phase, and neurons start as pure features; None for other schedules.
    """

    d: int
    k: int
    m: int
    sigma_x: float
    p: float
    tau: float
    lam: float
    random_start: bool
    ticket: float
    sampled_noise: bool
    paper_schedule: bool
    axis_dictionary: bool
    clean_time: float
    robust_time: float
    bias_power: float | None = None

    @property
    def c0(self) -> float:
        """From m = d^(1 + c0), as it is: the theorems want it tiny, which no finite m > d can show."""
        return math.log(self.m) / math.log(self.d) - 1


def of_the_data(d: int, k: int) -> list[Condition]:
    r"""The assumption on the codes, :math:`k \le d^{0.499}`.

    Args:
        d: input dimension.
        k: sparsity.

    Ref: purification, Asm 2.1
    """
    return [at_most("Asm 2.1: k <= d^0.499", k, d**0.499)]


def of_the_algorithm(s: TheoremSetting) -> list[Condition]:
    r"""Data, start and Algorithm 1, with what the paper itself waives of it.

    Args:
        s: the run as the theorems see it.

    Ref: purification, Asm 2.1; purification, Alg 1
    """
    printed = regularisation(s.d)
    decay = "Sec 4: lambda = logloglog(d)/d"
    noise = "Alg 1: noise rho drawn inside the loss"
    return [
        *of_the_data(s.d, s.k),
        *of_the_start(s),
        is_so(decay, True)
        if math.isclose(s.lam, printed)
        else waived(
            decay,
            f"'our result trivially extends to other values of lambda' (Sec 4), here {s.lam * s.d:.2g}/d",
        ),
        is_so(noise, True)
        if s.sampled_noise
        else waived(noise, "'Equivalently, one can use the smoothed ReLU activation' (Sec 4)"),
        waived(
            "Alg 1: gradient descent on one fixed set",
            "'Our result extends to stochastic gradient descent at the expense of complicating notations' "
            "(Sec 4.1)",
        ),
        not_checkable(
            "Thm 5.1: N >= d^C points, lr <= d^-C, sigma_0 = 1/poly(d), c0 <= c",
            "the constants C and c are not named",
        ),
    ]


def of_the_start(s: TheoremSetting) -> list[Condition]:
    r"""How training begins: at small random rows, or at pure features where the lottery is over.

    Args:
        s: the run as the theorems see it.

    Reading: the theorems on what follows the lottery use the start only by what Theorem C.2 says of the
        neurons after it; `of_the_structure` looks at that. The 0.0001 in :math:`b = k^{-0.5001}` is one of
        the text's small constants: as printed it halves b first at :math:`k = 2^{10000}`.

    Ref: purification, Sec 4.1; purification, Sec 6.2
    """
    random = "Sec 4.1: random start w ~ N(0, sigma_0^2 I)"
    if s.bias_power is None:
        return [
            is_so(random, s.random_start),
            is_so("Sec 4.1: printed schedules of bias and noise", s.paper_schedule),
        ]
    return [
        waived(
            random,
            "'even if we use w_i = M_i as initialization as opposed to random initialization, continuing "
            "clean training will still accumulate these small but dense mixtures' (Sec 6.2)",
        ),
        at_least(
            "Sec 4.1: b ends at k^-(0.5 + c) with c > 0", s.bias_power, 0.5, "the text takes c = 0.0001"
        ),
        waived(
            "Sec 4.1: b ends at k^-0.5001",
            f"'b ~ 1/(2 sqrt(k))' (Sec 3), here k^-{s.bias_power:g} = {2 * s.k ** (0.5 - s.bias_power):.2g} "
            f"times that",
        ),
        is_so("Sec 4.1: noise b (logloglog d)^3/log d", True),
    ]


def of_the_structure(
    s: TheoremSetting, alpha: float, beta: float, support: float, largest_dense: float
) -> list[Condition]:
    r"""What Theorem C.2 concludes and the later theorems use, looked at on a net of pure starts.

    .. math:: \alpha \ge 2 \sqrt k\, b, \qquad |\beta| \le 2 \alpha E\|z\|_0 / d, \qquad
        \max_i \|v_i\|_2 \le 1

    Args:
        s: the run as the theorems see it.
        alpha: pure part of every neuron after clean training.
        beta: its dense mixture.
        support: expected number of non-zero codes.
        largest_dense: largest length of a neuron's dense part over adversarial training.

    Reading: :math:`k \Xi_2^2/d` in Proposition F.8 hides the constant of :math:`\|z\|_0 = \Theta(k)`.

    Ref: purification, Thm C.2; purification, Prop F.8; purification, Eq F.13
    """
    return [
        at_least(
            "Thm C.2: every neuron is in S_sure+, alpha >= 2 sqrt(k) b",
            alpha,
            2 * s.k ** (0.5 - (s.bias_power or 0.5)),
        ),
        at_most("Prop F.8: |<u_i, M_j>| <= C k/d", abs(beta), 2 * abs(alpha) * support / s.d),
        at_most("(F.13): |v_i| <= 1 for every neuron", largest_dense, 1.0),
    ]


def of_the_lottery(s: TheoremSetting) -> list[Condition]:
    r"""What the two phases of clean training ask, Algorithm 1 included.

    .. math:: E |S_{j, sure}| \ge 4 \log d, \quad
        b_0 \ge \sqrt{2 + 2 (1 - \gamma) c_0} \, \sigma_0 \sqrt{\log d}, \quad k \log^{2.5} d \le d

    Args:
        s: the run as the theorems see it.

    Reading: the first is what the event of Lemma B.2 needs to happen with probability :math:`1 - d^{-3}`, the
        last is :math:`T_a \le T_b`, without which there is no first phase.

    Ref: purification, Lemma B.2; purification, Thm C.1
    """
    found = of_the_algorithm(s)
    if not s.random_start:
        return found
    if s.c0 <= 0:
        return [*found, is_so("Sec 4: m = d^(1 + c0) neurons with c0 > 0", False)]
    sure = ticket_counts(s.d, s.m, s.c0, GAMMA).sure
    return [
        *found,
        at_least(
            "Lem B.2: 4 log d sure winners per feature are expected",
            sure,
            4 * math.log(s.d),
            f"with this c0 = {s.c0:.2f} first so at d = 10^{sure_winners_from(s.c0, GAMMA):.0f}, with c0 = 1 "
            f"and gamma = 0.1, the largest of Lemma B.2, at d = 10^{sure_winners_from(1.0, 0.1):.0f}",
        ),
        at_least(
            "Lem B.2: b0 >= sqrt(2 + 2 (1 - gamma) c0) sigma_0 sqrt(log d)",
            s.ticket * math.sqrt(2),
            math.sqrt(2 + 2 * (1 - GAMMA) * s.c0),
        ),
        at_most("Thm C.1: T_a <= T_b, i.e. k log(d)^2.5 <= d", s.k * math.log(s.d) ** 2.5, s.d),
    ]


def of_clean_training(s: TheoremSetting) -> list[Condition]:
    r"""Hypotheses of the theorems on the net of clean training: the lottery's, and :math:`T_f \ge T_c`.

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm 5.1
    """
    time = at_least("Thm 5.1: T_f >= T_c = d^1.01/lr", s.clean_time * s.d, s.d**1.01)
    return [*of_the_lottery(s), time]


def of_fragility(s: TheoremSetting) -> list[Condition]:
    r"""Hypotheses of the theorem on the fragility of the clean net, those of clean training included.

    .. math:: k \ge d^{(1 - c_0)/3}, \quad T_f \ge \frac{1}{\eta \lambda \Xi_2^2}, \quad
        \tau \ge k^{-(0.5 + 10 c)}, \quad \tau \ge \Xi_2^{10} \frac{\sqrt d}{k^2}

    Args:
        s: the run as the theorems see it.

    Reading: c is 0.001, the largest that Theorem 5.2 names.

    Ref: purification, Thm 5.1(c); purification, Thm E.1
    """
    l2 = clean_failure_radius(s.d, s.k, s.c0, GAMMA)
    radii = (
        [
            at_least("Thm 5.1(c): tau >= k^-(0.5 + 10 c)", s.tau, universal_radius(s.k, SLACK)),
            at_least("Thm E.1: tau >= Xi2^10 sqrt(d)/k^2", s.tau, l2),
        ]
        if s.p == 2
        else [at_least("Thm E.1: tau >= Xi2^10/k^2 in l_inf", s.tau, l2 / math.sqrt(s.d))]
    )
    return [
        *of_clean_training(s),
        at_least("Thm E.1: k >= d^((1 - c0)/3)", s.k, s.d ** ((1 - s.c0) / 3)),
        late(s),
        *radii,
    ]


def late(s: TheoremSetting) -> Condition:
    r"""From when on the mixture is there: :math:`T_f \ge 1/(\eta \lambda \Xi_2^2)`.

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm E.1; purification, Lem E.2
    """
    begin = 1 / (s.lam * xi2(s.d, s.c0, GAMMA) ** 2) if s.lam else math.inf
    return at_least("Thm E.1: T_f >= 1/(lr lambda Xi2^2)", s.clean_time * s.d, begin)


def of_adversarial_training(s: TheoremSetting) -> list[Condition]:
    r"""Hypotheses of the theorems on adversarial training, those of clean training included.

    .. math:: T_f \ge \frac{d \, \Xi_2^6}{\eta}, \quad T_g \ge \frac{k^2 \log d}{\eta}, \quad
        k^{2.5} \le \frac{d^{1 - 2 c_0}}{\log d}

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm 5.3; purification, Thm F.1; purification, Thm F.4
    """
    own = of_l2_attacks(s) if s.p == 2 else of_l_inf_attacks(s)
    return [
        *of_clean_training(s),
        at_least("Thm F.1: T_f >= d Xi2^6/lr", s.clean_time * s.d, s.d * xi2(s.d, s.c0, GAMMA) ** 6),
        at_least("Thm F.1: T_g >= k^2 log(d)/lr", s.robust_time * s.d, s.k**2 * math.log(s.d)),
        at_most("Thm F.1: k^2.5 <= d^(1 - 2 c0)/log d", s.k**2.5, s.d ** (1 - 2 * s.c0) / math.log(s.d)),
        *own,
    ]


def of_l2_attacks(s: TheoremSetting) -> list[Condition]:
    r"""What the l2 theorem asks beside.

    .. math:: \sigma_x \le \frac{d^{2 - 4 c_0}}{k^{5.5}}, \quad \tau \le \frac{1}{\sqrt k \, d^{c_0}}, \quad
        d^{1/3} \le k \le d^{0.4}

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm F.1; purification, Cor F.3
    """
    low, high = l2_window(s.d)
    return [
        at_most("Thm F.1: sigma_x <= d^(2 - 4 c0)/k^5.5", s.sigma_x, s.d ** (2 - 4 * s.c0) / s.k**5.5),
        at_most("Thm F.1: tau <= 1/(sqrt(k) d^c0)", s.tau, robust_radius(s.d, s.k, s.c0)),
        at_least("Cor F.3: k >= d^(1/3)", s.k, low),
        at_most("Cor F.3: k <= d^0.4", s.k, high),
    ]


def of_l_inf_attacks(s: TheoremSetting) -> list[Condition]:
    r"""What the l_inf theorem asks beside: a sparse dictionary, k and the radius of training.

    .. math:: k \le d^{0.399}, \quad \tau \le k^{-(1.75 + 2 c_0)}

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm 5.4
    """
    _, hold = l_inf_radii(s.k, s.c0, 0.0)
    return [
        is_so("Thm 5.4: row and column sums of M are d^o(1)", s.axis_dictionary),
        at_most("Thm 5.4: k <= d^0.399", s.k, s.d**0.399),
        at_most("Thm 5.4: tau <= k^-(1.75 + 2 c0)", s.tau, hold),
    ]
