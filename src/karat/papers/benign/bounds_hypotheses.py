r"""The hypotheses of Theorem 3.1 with their numbers, and up to which constant a setting meets them.

Symbols: as in `bounds`; :math:`\delta` is `p_fail`.
"""

import math

from karat.core.extended import power, ratio
from karat.papers.benign.bounds import TheoremSetting
from karat.study.hypothesis import Condition, at_least, at_most, is_so

P_FAIL = 0.05
"""Failure probability at which hypotheses are read: the theorem then promises 1 - 2 p_fail = 0.9."""

# A setting chosen on the edge of a hypothesis must not fail by its own rounding.
_ROUNDING = 1 + 1e-12


def theorem_conditions(setting: TheoremSetting, *, p_fail: float = P_FAIL, C: float = 1.0) -> list[Condition]:
    r"""Return every hypothesis of Theorem 3.1 at a setting, met or not.

    For every activation, with :math:`\omega` the initial scale and :math:`K` the sub-Gaussian norm,

    .. math::
        d \ge C \max\bigl(\|\mu\|^2 n,\; n^2 (\log(n/\delta) + \alpha^2)\bigr), \quad
        \beta \le 1/C, \quad \omega \sqrt{m d} \le \eta, \quad \eta \le 1/(C d^2), \quad
        n \ge C \log(m/\delta), \quad \alpha \le \|\mu\|, \quad K \le 1 ,

    for smooth activations (A) and for homogeneous ones (B)

    .. math::
        \text{(A)}\quad d \le \|\mu\|^4 / C, \quad \|\mu\|^2 \ge C \log(n/\delta), \qquad
        \text{(B)}\quad m \ge C \log(n/\delta), \quad
        \|\mu\|^2 \ge C \max\Bigl(\sqrt{\tfrac{d}{n} \log \tfrac{m d}{n \delta}},\;
        \log\tfrac{n}{\delta}\Bigr) .

    Args:
        setting: the run.
        p_fail: failure probability of the theorem.
        C: its hidden constant.

    Reading: the constant C > 1 is hidden, so C = 1 is used: what is unmet here is unmet for every
        admissible constant at this p_fail, and what is met may still fail for the true one. The section
        drops :math:`\alpha^2` from the second term of Asm 1(1) in a remark; the printed form is used.

    Ref: benign, Asm 1; benign, Thm 3.1
    """
    of_activation = _for_smooth if setting.smooth else _for_homogeneous
    return [*_for_all(setting, p_fail, C), *of_activation(setting, p_fail, C)]


def _for_all(s: TheoremSetting, p_fail: float, C: float) -> list[Condition]:
    needed_d = C * max(s.mu**2 * s.n, s.n**2 * (math.log(s.n / p_fail) + s.tau**2))
    start = s.init_scale * math.sqrt(s.m * s.d)
    return [
        at_least("Asm 1(1): d >= C max(|mu|^2 n, n^2 (log(n/p) + tau^2))", s.d, needed_d),
        at_most("Asm 1(2): flip rate <= 1/C", s.flip_rate, 1 / C),
        at_most("Asm 1(3): init_scale sqrt(m d) <= lr", start, s.lr * _ROUNDING),
        at_most("Asm 1(4): lr <= 1/(C d^2)", s.lr, _ROUNDING / (C * s.d**2)),
        at_least("Asm 1(5): n >= C log(m/p)", s.n, C * math.log(s.m / p_fail)),
        at_most("Asm 1(6): tau <= |mu|", s.tau, s.mu),
        at_most("Def 2.1: sub-Gaussian norm of the cluster law <= 1", s.psi2, 1),
        is_so(
            "Alg 1: symmetric start, frozen top layer, 1/sqrt m, no perturbation at t = 0, constant lr",
            s.theorem_algorithm,
        ),
    ]


def _for_smooth(s: TheoremSetting, p_fail: float, C: float) -> list[Condition]:
    return [
        at_most("(A1): d <= |mu|^4/C", s.d, s.mu**4 / C),
        at_least("(A2): |mu|^2 >= C log(n/p)", s.mu**2, C * math.log(s.n / p_fail)),
    ]


def _for_homogeneous(s: TheoremSetting, p_fail: float, C: float) -> list[Condition]:
    log_n = math.log(s.n / p_fail)
    # For n beyond m d / p_fail the logarithm is negative, and the first term of the maximum asks for nothing.
    inner = s.d / s.n * max(0.0, math.log(s.m * s.d / (s.n * p_fail)))
    needed = C * max(math.sqrt(inner), log_n)
    return [
        at_least("(B1): m >= C log(n/p)", s.m, C * log_n),
        at_least("(B2): |mu|^2 >= C max(sqrt(d/n log(md/(np))), log(n/p))", s.mu**2, needed),
    ]


def robust_condition(setting: TheoremSetting, *, C: float = 1.0) -> Condition:
    r"""Return the further hypothesis of the robust bound, :math:`\alpha \le \sqrt{n/d}\, \|\mu\|^2 / C`.

    Args:
        setting: the run.
        C: the theorem's hidden constant.

    Ref: benign, Thm 3.1(3)
    """
    reach = math.sqrt(setting.n / setting.d) * setting.mu**2 / C
    return at_most("Thm 3.1(3): tau <= sqrt(n/d) |mu|^2/C", setting.tau, reach)


def proof_constant(*, kappa: float, slope: float, smooth: bool, c0: float = 1.0) -> float:
    r"""Return the C from which on the proof's own last step goes through.

    .. math::
        \Bigl(1 + \frac{9}{\gamma}\Bigr) C_r \Bigl(\frac{1}{C} + \sqrt{\frac{2}{C}}\Bigr) \le \frac{1}{4}

    with :math:`C_r = 64 C_1 (\sqrt{C_1} + 1/(2 \sqrt{C_1}))^2 / \gamma^2` for smooth activations and
    :math:`192\, C_1 (C_1 + 1/(4 C_1)) / (c_0 \gamma^2)` for homogeneous ones.

    Args:
        kappa: variance of one noise coordinate.
        slope: lower bound on the derivative of the activation.
        smooth: whether the activation is smooth or homogeneous.
        c0: share of the neurons that are active on a sample.

    Reading: printed for smooth activations; for homogeneous ones the proof says "similar".

    >>> f"{proof_constant(kappa=0.375, slope=1.0, smooth=False):.0e}"
    '6e+13'

    Ref: benign, Lemma B.15
    """
    C1 = 10 / kappa
    if smooth:
        loss_ratio = ratio(64 * C1 * (math.sqrt(C1) + 0.5 / math.sqrt(C1)) ** 2, slope**2)
    else:
        loss_ratio = ratio(192 * C1 * (C1 + 1 / (4 * C1)), c0 * slope**2)
    allowed = 1 / (4 * (1 + 9 / slope) * loss_ratio)
    # u = 1/sqrt(C) solves u^2 + sqrt(2) u = allowed; this form of the root does not cancel.
    return power(ratio(math.sqrt(2) + math.sqrt(2 + 4 * allowed), 2 * allowed), 2)


def largest_constant(setting: TheoremSetting, *, p_fail: float = P_FAIL) -> float:
    """Return the largest C for which the setting meets every hypothesis of Theorem 3.1; 0 if none does.

    The theorem holds for some sufficiently large C, so this says how deep inside its regime a setting lies.

    Args:
        setting: the run.
        p_fail: failure probability of the theorem.

    Ref: benign, Asm 1
    """
    low, high = 1e-6, 1e6
    if not _inside(setting, p_fail, low):
        return 0.0
    # Every hypothesis gets harder as C grows, so bisection of log C finds where the first one breaks.
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _inside(setting, p_fail, middle) else (low, middle)
    return low


def _inside(setting: TheoremSetting, p_fail: float, C: float) -> bool:
    return all(one.status == "met" for one in theorem_conditions(setting, p_fail=p_fail, C=C))
