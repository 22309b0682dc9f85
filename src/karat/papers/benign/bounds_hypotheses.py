r"""The hypotheses of Theorem 3.1: which of them a setting breaks, and up to which constant it meets them.

Symbols: as in `bounds`; :math:`\delta` is `p_fail`.
"""

import math

from karat.papers.benign.bounds import TheoremSetting

P_FAIL = 0.05
"""Failure probability at which hypotheses are read: the theorem then promises 1 - 2 p_fail = 0.9."""

Hypothesis = tuple[bool, str]
"""Whether it is met, and a sentence with both sides in numbers."""


def unmet_hypotheses(setting: TheoremSetting, *, p_fail: float = P_FAIL, C: float = 1.0) -> list[str]:
    r"""Return the hypotheses of Theorem 3.1 that the setting breaks, as short sentences with numbers.

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

    Reading: the constant C > 1 is hidden, so C = 1 is used: what is broken here is broken for every
        admissible constant at this p_fail, and what is met may still fail for the true one.

    Ref: benign, Asm 1; benign, Thm 3.1
    """
    of_activation = _for_smooth if setting.smooth else _for_homogeneous
    hypotheses = [*_for_all(setting, p_fail, C), *of_activation(setting, p_fail, C)]
    return [sentence for met, sentence in hypotheses if not met]


def _for_all(s: TheoremSetting, p_fail: float, C: float) -> list[Hypothesis]:
    needed_d = C * max(s.mu**2 * s.n, s.n**2 * (math.log(s.n / p_fail) + s.tau**2))
    start = s.init_scale * math.sqrt(s.m * s.d)
    log_m = math.log(s.m / p_fail)
    return [
        (
            s.d >= needed_d,
            f"Asm 1(1): d >= max(|mu|^2 n, n^2 (log(n/p) + tau^2)) = {needed_d:.4g}, d = {s.d}",
        ),
        (s.flip_rate <= 1 / C, f"Asm 1(2): flip rate <= 1/C, is {s.flip_rate:g}"),
        (start <= s.lr, f"Asm 1(3): init_scale sqrt(m d) <= lr = {s.lr:.3g}, is {start:.3g}"),
        # A step size chosen as 1/(C d^2) must not fail by its own rounding.
        (s.lr <= (1 + 1e-12) / (C * s.d**2), f"Asm 1(4): lr <= 1/d^2 = {1 / s.d**2:.3g}, lr = {s.lr:.3g}"),
        (s.n >= C * log_m, f"Asm 1(5): n >= log(m/p) = {log_m:.3g}, n = {s.n}"),
        (s.tau <= s.mu, f"Asm 1(6): tau <= |mu| = {s.mu:g}, tau = {s.tau:g}"),
        (s.psi2 <= 1, f"Def 2.1: sub-Gaussian norm of the cluster law <= 1, is {s.psi2:.3g}"),
        (
            s.theorem_algorithm,
            "Alg 1: symmetric start, frozen top layer, 1/sqrt m, no perturbation at t = 0 and constant lr "
            "are not all used",
        ),
    ]


def _for_smooth(s: TheoremSetting, p_fail: float, C: float) -> list[Hypothesis]:
    log_n = math.log(s.n / p_fail)
    return [
        (s.d <= s.mu**4 / C, f"(A1): d <= |mu|^4 = {s.mu**4:.4g}, d = {s.d}"),
        (s.mu**2 >= C * log_n, f"(A2): |mu|^2 >= log(n/p) = {log_n:.3g}, is {s.mu**2:.3g}"),
    ]


def _for_homogeneous(s: TheoremSetting, p_fail: float, C: float) -> list[Hypothesis]:
    log_n = math.log(s.n / p_fail)
    # For n beyond m d / p_fail the logarithm is negative, and the first term of the maximum asks for nothing.
    inner = s.d / s.n * max(0.0, math.log(s.m * s.d / (s.n * p_fail)))
    needed_mu = C * max(math.sqrt(inner), log_n)
    return [
        (s.m >= C * log_n, f"(B1): m >= log(n/p) = {log_n:.3g}, m = {s.m}"),
        (
            s.mu**2 >= needed_mu,
            f"(B2): |mu|^2 >= max(sqrt(d/n log(md/(np))), log(n/p)) = {needed_mu:.3g}, is {s.mu**2:.3g}",
        ),
    ]


def largest_constant(setting: TheoremSetting, *, p_fail: float = P_FAIL) -> float:
    """Return the largest C for which the setting meets every hypothesis of Theorem 3.1; 0 if none does.

    The theorem holds for some sufficiently large C, so this says how deep inside its regime a setting lies.

    Args:
        setting: the run.
        p_fail: failure probability of the theorem.

    Ref: benign, Asm 1
    """
    low, high = 1e-6, 1e6
    if unmet_hypotheses(setting, p_fail=p_fail, C=low):
        return 0.0
    # Every hypothesis gets harder as C grows, so bisection of log C finds where the first one breaks.
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if unmet_hypotheses(setting, p_fail=p_fail, C=middle) else (middle, high)
    return low
