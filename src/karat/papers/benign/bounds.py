"""Formulas of benign: error bounds, the algorithm-free floor, the training time, and the hypotheses.

Symbols: |mu| is `mu`, alpha is `tau`, beta is `flip_rate`, lambda is `log_concavity`, eta is `lr`, omega_init
is `init_scale`, delta is `p_fail`, gamma is `slope`, H is `smoothness`.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtr

from karat.core.checks import require_integer, require_number

P_FAIL = 0.05
"""Failure probability at which hypotheses are read: the theorem then promises 1 - 2 p_fail = 0.9."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything Theorem 3.1 speaks of.

    Args:
        n, d, m: samples, input dimension, width.
        mu: length of the signal.
        tau: attack radius.
        flip_rate: label noise.
        lr: step size.
        init_scale: standard deviation of the initial weights.
        smooth: whether the activation is smooth (hypotheses A) or homogeneous (hypotheses B).
        slope, smoothness: bounds on its two derivatives.
        log_concavity: of the cluster law.
        psi2: its sub-Gaussian norm.
        theorem_algorithm: symmetric start, frozen top layer, 1/sqrt m, clean first step, constant step size.
    """

    n: int
    d: int
    m: int
    mu: float
    tau: float
    flip_rate: float
    lr: float
    init_scale: float
    smooth: bool = False
    slope: float = 1.0
    smoothness: float = 1.0
    log_concavity: float = 1.0
    psi2: float = 1.0
    theorem_algorithm: bool = True

    def __post_init__(self) -> None:
        for name in ("n", "d", "m"):
            require_integer(getattr(self, name), name, "Setting", minimum=1)
        for name in ("mu", "lr", "smoothness", "log_concavity", "psi2"):
            require_number(getattr(self, name), name, "Setting", positive=True)
        for name in ("tau", "init_scale"):
            require_number(getattr(self, name), name, "Setting", minimum=0)
        require_number(self.flip_rate, "flip_rate", "Setting", minimum=0, maximum=0.5)
        require_number(self.slope, "slope", "Setting", minimum=0, maximum=1)


def clean_error_bound(setting: Setting, *, C: float = 1.0, c: float = 0.5) -> float:
    """Upper bound beta + 2 exp(-c lambda n |mu|^4 / (C^2 d)) on the clean test error, at most 1.

    Reading: c = 1/2 is what concentration of strongly log-concave laws gives (see `margin_bound`); C is
        hidden in the theorem, and C = 1 makes the bound as small as any admissible constant can.

    Ref: benign, Thm 3.1(2)
    """
    s = setting
    exponent = c * s.log_concavity * s.n * s.mu**4 / (C**2 * s.d)
    return min(1.0, s.flip_rate + 2 * math.exp(-exponent))


def robust_error_bound(setting: Setting, *, C: float = 1.0, c: float = 0.5) -> float:
    """Upper bound beta + 2 exp(-c lambda |mu|^2 (|mu|/C sqrt(n/d) - alpha/|mu|)^2) on the robust test error.

    Holds when: alpha/|mu| <= sqrt(n |mu|^2 / d) / C; beyond it the theorem is silent and the bound is 1.
    Reading: the square applies to the difference; constants as in `clean_error_bound`.

    Ref: benign, Thm 3.1(3)
    """
    s = setting
    room = s.mu / C * math.sqrt(s.n / s.d) - s.tau / s.mu
    if room < 0:
        return 1.0
    return min(1.0, s.flip_rate + 2 * math.exp(-c * s.log_concavity * s.mu**2 * room**2))


def training_time(setting: Setting, tol: float, *, zeta: float = 0.0, c0: float = 1.0) -> float:
    """Iterations T after which the robust training loss is at most tol.

    Smooth: ((35 + 8 sqrt(m/d^3)) / (gamma |mu| eta tol))^(2/(1-zeta)).
    Homogeneous: (30 / (|mu| gamma c0 sqrt(eta) tol))^2.

    Reading: the second form is the appendix's; the theorem itself only says Omega(1/(|mu|^2 gamma^2 eta
        tol^2)). c0, a share of neurons, is hidden and taken as 1, where the time is shortest.

    Ref: benign, Thm 3.1(1)
    """
    require_number(tol, "tol", "training_time", positive=True)
    s = setting
    if s.smooth:
        base = (35 + 8 * math.sqrt(s.m / s.d**3)) / (s.slope * s.mu * s.lr * tol)
        return float(base ** (2 / (1 - zeta)))
    return (30 / (s.mu * s.slope * c0 * math.sqrt(s.lr) * tol)) ** 2


def training_loss_bound(setting: Setting, elapsed: float, *, c0: float = 1.0) -> float:
    """Upper bound on the robust training loss after time elapsed = sum of the step sizes.

        homogeneous: 30 / (gamma |mu| c0 sqrt(elapsed))
        smooth:      (30 + 6 m^(1/4) / sqrt H) / (gamma |mu| sqrt(elapsed))

    Reading: step sizes small enough for the theorem cannot be run for long, so the time variable is eta T,
        which the proofs' bounds depend on. c0 is the share of neurons active on a sample, so at most 1 (the
        printed c0 > 1 is a slip); it is hidden and taken as 1, its strictest value. The corollary's printed
        0/sqrt H is the 6/sqrt H of its proof.

    Ref: benign, Lemma B.29; benign, Cor B.16
    """
    require_number(elapsed, "elapsed", "training_loss_bound", positive=True)
    s = setting
    constant = 30 + 6 * s.m**0.25 / math.sqrt(s.smoothness) if s.smooth else 30 / c0
    return constant / (s.slope * s.mu * math.sqrt(elapsed))


def implied_constant(setting: Setting, error: float, *, robust: bool, c: float = 0.5) -> float:
    """Smallest C at which the bound of Theorem 3.1 reaches `error`: what a measurement says about C.

    Solves flip_rate + 2 exp(-c lambda (sqrt(n/d) |mu|^2 / C - shift)^2) = error, shift = tau or 0.

    Ref: benign, Thm 3.1
    """
    s = setting
    excess = error - s.flip_rate
    if excess <= 0:
        return 0.0
    depth = math.sqrt(max(0.0, math.log(2 / excess)) / (c * s.log_concavity))
    reach = depth + (s.tau if robust else 0.0)
    return math.inf if reach == 0 else math.sqrt(s.n / s.d) * s.mu**2 / reach


def robust_error_floor(mu: float, tau: float, flip_rate: float, *, overlap: float | None = None) -> float:
    """Lower bound on the robust error of ANY classifier: beta + (1-2 beta)/4 * overlap; 1/2 once tau >= |mu|.

    Args:
        overlap: integral of min(p(x), p(x + v)), v = 2 (1 - tau/|mu|) mu, p the cluster density; None for the
            standard Gaussian, where it is 2 Phi(-(|mu| - tau)).

    >>> round(robust_error_floor(2.0, 0.2, 0.1), 4)
    0.1144

    Ref: benign, Thm 3.2
    """
    require_number(mu, "mu", "robust_error_floor", positive=True)
    require_number(tau, "tau", "robust_error_floor", minimum=0)
    require_number(flip_rate, "flip_rate", "robust_error_floor", minimum=0, maximum=0.5)
    if tau >= mu:
        return 0.5
    if overlap is None:
        overlap = 2 * float(ndtr(-(mu - tau)))
    return flip_rate + (1 - 2 * flip_rate) / 4 * overlap


def margin_bound(
    margin_plus: float,
    margin_minus: float,
    lipschitz: float,
    tau: float,
    flip_rate: float,
    log_concavity: float = 1.0,
) -> float:
    """Upper bound on the robust error from the mean margin of each class, with no hidden constant.

        beta + sum over both classes of exp(-lambda/2 (E[y f | y]/L - tau)^2)

    Holds when: both mean margins are at least L tau; otherwise the bound is 1.
    Reading: c = 1/2, the constant of Lipschitz concentration for lambda-strongly log-concave laws. L is any
        Lipschitz constant of f; for |a_s| = 1 and 1/sqrt m it is the spectral norm of W.

    Ref: benign, Lemma 4.2
    """
    require_number(lipschitz, "lipschitz", "margin_bound", positive=True)
    rooms = [margin / lipschitz - tau for margin in (margin_plus, margin_minus)]
    if min(rooms) < 0:
        return 1.0
    return min(1.0, flip_rate + sum(math.exp(-log_concavity / 2 * room**2) for room in rooms))


def loss_ratio_bound(
    d: int, tau: float, *, kappa: float, slope: float, smooth: bool, c0: float = 1.0
) -> float:
    """Upper bound on the ratio of two loss derivatives, max_ij g_i/g_j, at every step; C1 = 10/kappa.

        smooth:      16 (sqrt(C1 d) + alpha)^2 / (gamma^2 (sqrt(d/C1) - alpha)^2)
        homogeneous: 48 (C1 d + alpha^2) / (c0 gamma^2 (sqrt(d/C1) - alpha)^2)

    Holds when: alpha < sqrt(d / C1); infinite beyond.
    Reading: c0, a share of neurons, is hidden and taken as 1, its strictest value.

    Ref: benign, Lemma B.9; benign, Lemma 4.4
    """
    C1 = 10 / require_number(kappa, "kappa", "loss_ratio_bound", positive=True)
    inner = math.sqrt(d / C1) - tau
    if inner <= 0 or slope == 0:
        return math.inf
    top = 16 * (math.sqrt(C1 * d) + tau) ** 2 if smooth else 48 * (C1 * d + tau**2) / c0
    return top / (slope**2 * inner**2)


def loss_ratio_reach(d: int, tau: float, elapsed: float, *, kappa: float) -> float:
    """Largest ratio of loss derivatives that training from f = 0 can produce at all in time `elapsed`.

    A gradient has norm at most R = sqrt(C1 d) + alpha, the largest length of a point in a training ball, and
    f moves by at most R times the movement of W. So margins stay within elapsed R^2 of 0, and a ratio of
    g(z) = 1/(1 + e^z) at two such margins is at most exp(elapsed R^2).

    Ref: benign, Lemma 4.4
    """
    C1 = 10 / require_number(kappa, "kappa", "loss_ratio_reach", positive=True)
    return math.exp(min(700.0, elapsed * (math.sqrt(C1 * d) + tau) ** 2))


def gradient_constant(*, kappa: float, slope: float) -> float:
    """C2 of |grad L|_F <= C2 sqrt(d/n) G, G the mean loss derivative, for smooth activations.

        C2 = sqrt(5 C1 C_r),   C_r = 64 C1 (sqrt C1 + 1/(2 sqrt C1))^2 / gamma^2,   C1 = 10/kappa

    Ref: benign, Lemma 4.3; benign, Lemma B.14
    """
    C1 = 10 / require_number(kappa, "kappa", "gradient_constant", positive=True)
    C_r = 64 * C1 * (math.sqrt(C1) + 0.5 / math.sqrt(C1)) ** 2 / slope**2
    return math.sqrt(5 * C1 * C_r)


def unmet_hypotheses(setting: Setting, *, p_fail: float = P_FAIL, C: float = 1.0) -> list[str]:
    """Hypotheses of Theorem 3.1 that the setting breaks, as short sentences with both sides in numbers.

    Reading: the constant C > 1 is hidden, so C = 1 is used: what is broken here is broken for every
        admissible constant at this p_fail, and what is met may still fail for the true one.

    Ref: benign, Asm 1; benign, Thm 3.1
    """
    s = setting
    log_n = math.log(s.n / p_fail)
    start = s.init_scale * math.sqrt(s.m * s.d)
    needed_d = C * max(s.mu**2 * s.n, s.n**2 * (log_n + s.tau**2))
    checks = [
        (
            s.d >= needed_d,
            f"Asm 1(1): d >= max(|mu|^2 n, n^2 (log(n/p) + tau^2)) = {needed_d:.4g}, d = {s.d}",
        ),
        (s.flip_rate <= 1 / C, f"Asm 1(2): flip rate <= 1/C, is {s.flip_rate:g}"),
        (
            start <= s.lr,
            f"Asm 1(3): init_scale sqrt(m d) <= lr = {s.lr:.3g}, is {start:.3g}",
        ),
        (s.lr <= (1 + 1e-12) / (C * s.d**2), f"Asm 1(4): lr <= 1/d^2 = {1 / s.d**2:.3g}, lr = {s.lr:.3g}"),
        (
            s.n >= C * math.log(s.m / p_fail),
            f"Asm 1(5): n >= log(m/p) = {math.log(s.m / p_fail):.3g}, n = {s.n}",
        ),
        (s.tau <= s.mu, f"Asm 1(6): tau <= |mu| = {s.mu:g}, tau = {s.tau:g}"),
        (s.psi2 <= 1, f"Def 2.1: sub-Gaussian norm of the cluster law <= 1, is {s.psi2:.3g}"),
        (
            s.theorem_algorithm,
            "Alg 1: symmetric start, frozen top layer, 1/sqrt m, no perturbation at t = 0 and constant lr "
            "are not all used",
        ),
    ]
    if s.smooth:
        checks += [
            (s.d <= s.mu**4 / C, f"(A1): d <= |mu|^4 = {s.mu**4:.4g}, d = {s.d}"),
            (s.mu**2 >= C * log_n, f"(A2): |mu|^2 >= log(n/p) = {log_n:.3g}, is {s.mu**2:.3g}"),
        ]
    else:
        inner = s.d / s.n * max(0.0, math.log(s.m * s.d / (s.n * p_fail)))
        needed_mu = C * max(math.sqrt(inner), log_n)
        checks += [
            (s.m >= C * log_n, f"(B1): m >= log(n/p) = {log_n:.3g}, m = {s.m}"),
            (
                s.mu**2 >= needed_mu,
                f"(B2): |mu|^2 >= max(sqrt(d/n log(md/(np))), log(n/p)) = {needed_mu:.3g}, is {s.mu**2:.3g}",
            ),
        ]
    return [sentence for met, sentence in checks if not met]


def largest_constant(setting: Setting, *, p_fail: float = P_FAIL) -> float:
    """Largest C for which the setting meets every hypothesis of Theorem 3.1; 0 if none does.

    The theorem holds for some sufficiently large C, so this says how deep inside its regime a setting lies.

    Ref: benign, Asm 1
    """
    low, high = 1e-6, 1e6
    if unmet_hypotheses(setting, p_fail=p_fail, C=low):
        return 0.0
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if unmet_hypotheses(setting, p_fail=p_fail, C=middle) else (middle, high)
    return low
