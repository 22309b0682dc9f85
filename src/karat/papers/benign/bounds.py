r"""Formulas of benign's two theorems: error bounds, training time, and the floor under every classifier.

Symbols: :math:`\|\mu\|` is `mu`, :math:`\alpha` is `tau`, :math:`\beta` is `flip_rate`, :math:`\lambda` is
`log_concavity`, :math:`\eta` is `lr`, :math:`\omega_{\mathrm{init}}` is `init_scale`, :math:`\gamma` is
`slope`, :math:`H` is `smoothness`, :math:`\epsilon` is `tol`.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from scipy.special import ndtr

from karat.core.checks import require_number
from karat.core.extended import power, ratio
from karat.core.ranges import Count, NonNegative, Positive, Share, checked


@dataclass(frozen=True, kw_only=True)
@checked
class TheoremSetting:
    """Everything Theorem 3.1 speaks of.

    Args:
        n: training samples.
        d: input dimension.
        m: width.
        mu: length of the signal.
        tau: attack radius.
        flip_rate: label noise.
        lr: step size.
        init_scale: standard deviation of the initial weights.
        smooth: whether the activation is smooth (hypotheses A) or homogeneous (hypotheses B).
        slope: lower bound on the derivative of the activation.
        smoothness: upper bound on its second derivative.
        log_concavity: of the cluster law.
        psi2: sub-Gaussian norm of the cluster law.
        theorem_algorithm: symmetric start, frozen top layer, 1/sqrt m, clean first step, constant step size.
    """

    n: Count
    d: Count
    m: Count
    mu: Positive
    tau: NonNegative
    flip_rate: Annotated[float, Ge(0), Le(0.5)]
    lr: Positive
    init_scale: NonNegative
    smooth: bool = False
    slope: Share = 1.0
    smoothness: Positive = 1.0
    log_concavity: Positive = 1.0
    psi2: Positive = 1.0
    theorem_algorithm: bool = True


def clean_error_bound(setting: TheoremSetting, *, C: float = 1.0, c: float = 0.5) -> float:
    r"""Upper bound on the clean test error, at most 1.

    .. math::
        \beta + 2 \exp\Bigl(-\frac{c \lambda n \|\mu\|^4}{C^2 d}\Bigr)

    Args:
        setting: the run that is bounded.
        C: the theorem's hidden constant.
        c: constant of concentration.

    Reading: c = 1/2 is what concentration of strongly log-concave laws gives (see `margin_bound`); C is
        hidden in the theorem, and C = 1 makes the bound as small as any admissible constant can.

    Ref: benign, Thm 3.1(2)
    """
    s = setting
    exponent = c * s.log_concavity * s.n * s.mu**4 / (C**2 * s.d)
    return min(1.0, s.flip_rate + 2 * math.exp(-exponent))


def robust_error_bound(setting: TheoremSetting, *, C: float = 1.0, c: float = 0.5) -> float:
    r"""Upper bound on the robust test error, at most 1.

    .. math::
        \beta + 2 \exp\Bigl(-c \lambda \|\mu\|^2
        \Bigl(\frac{\|\mu\|}{C} \sqrt{\frac{n}{d}} - \frac{\alpha}{\|\mu\|}\Bigr)^2\Bigr)

    Args:
        setting: the run that is bounded.
        C: the theorem's hidden constant.
        c: constant of concentration.

    Holds when: :math:`\alpha / \|\mu\| \le \sqrt{n \|\mu\|^2 / d} / C`; beyond it the theorem is silent and
        the bound is 1.
    Reading: the square applies to the difference; constants as in `clean_error_bound`.

    Ref: benign, Thm 3.1(3)
    """
    s = setting
    room = s.mu / C * math.sqrt(s.n / s.d) - s.tau / s.mu
    if room < 0:
        return 1.0
    return min(1.0, s.flip_rate + 2 * math.exp(-c * s.log_concavity * s.mu**2 * room**2))


def training_time(setting: TheoremSetting, tol: float, *, zeta: float = 0.0, c0: float = 1.0) -> float:
    r"""Iterations after which the robust training loss is at most `tol`.

    For smooth and for homogeneous activations

    .. math::
        \Bigl(\frac{35 + 8 \sqrt{m/d^3}}{\gamma \|\mu\| \eta \epsilon}\Bigr)^{2/(1-\zeta)}
        \qquad\text{and}\qquad
        \Bigl(\frac{30}{\|\mu\| \gamma c_0 \sqrt{\eta} \epsilon}\Bigr)^2 .

    Args:
        setting: the run.
        tol: the loss to be reached.
        zeta: how far a smooth activation is from homogeneous, :math:`|\phi'(z) z - \phi(z)| \le c_1 + c_2
            |z|^\zeta`; 0 for the smoothed leaky ReLU.
        c0: share of the neurons that are active on a sample.

    Reading: the second form is the appendix's; the theorem itself only says
        :math:`\Omega(1/(\|\mu\|^2 \gamma^2 \eta \epsilon^2))`. c0 is hidden and taken as 1, where the time
        is shortest.

    Ref: benign, Thm 3.1(1)
    """
    require_number(tol, "tol", "training_time", positive=True)
    s = setting
    if s.smooth:
        base = ratio(35 + 8 * math.sqrt(s.m / s.d**3), s.slope * s.mu * s.lr * tol)
        return power(base, 2 / (1 - zeta))
    return power(ratio(30, s.mu * s.slope * c0 * math.sqrt(s.lr) * tol), 2)


def training_loss_bound(setting: TheoremSetting, elapsed: float, *, c0: float = 1.0) -> float:
    r"""Upper bound on the robust training loss after the step sizes add up to `elapsed`, written :math:`t`.

    For homogeneous and for smooth activations

    .. math::
        \frac{30}{\gamma \|\mu\| c_0 \sqrt{t}}
        \qquad\text{and}\qquad
        \frac{30 + 6 m^{1/4} / \sqrt{H}}{\gamma \|\mu\| \sqrt{t}} .

    Args:
        setting: the run.
        elapsed: sum of the step sizes.
        c0: share of the neurons that are active on a sample.

    Reading: step sizes small enough for the theorem cannot be run for long, so the time variable is
        :math:`\eta T`, which the proofs' bounds depend on. c0 is at most 1 (the printed c0 > 1 is a slip); it
        is hidden and taken as 1, its strictest value. The corollary's printed :math:`0/\sqrt{H}` is the
        :math:`6/\sqrt{H}` of its proof.

    Ref: benign, Lemma B.29; benign, Cor B.16
    """
    require_number(elapsed, "elapsed", "training_loss_bound", positive=True)
    s = setting
    constant = 30 + 6 * s.m**0.25 / math.sqrt(s.smoothness) if s.smooth else 30 / c0
    return constant / (s.slope * s.mu * math.sqrt(elapsed))


def implied_constant(setting: TheoremSetting, error: float, *, robust: bool, c: float = 0.5) -> float:
    r"""Smallest C at which the bound of Theorem 3.1 reaches `error`: what a measurement says about C.

    It solves, with :math:`s = \alpha` for the robust bound and :math:`s = 0` for the clean one,

    .. math::
        \beta + 2 \exp\Bigl(-c \lambda \Bigl(\frac{\|\mu\|^2}{C} \sqrt{\frac{n}{d}} - s\Bigr)^2\Bigr)
        = \mathrm{error} .

    Args:
        setting: the run.
        error: a measured test error.
        robust: whether it is the robust or the clean one.
        c: constant of concentration.

    Returns:
        0 for an error at or below the flip rate, which the bound only tends to; infinity for an error that
        the bound stays below whatever C is.

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
    r"""Lower bound on the robust error of ANY classifier, 1/2 once the attack reaches the signal.

    With the cluster density :math:`p` and :math:`v = 2 (1 - \alpha/\|\mu\|) \mu`,

    .. math::
        \beta + \frac{1 - 2\beta}{4} \int \min\bigl(p(x), p(x + v)\bigr)\, dx
        \quad\text{for } \alpha < \|\mu\| .

    Args:
        mu: length of the signal.
        tau: attack radius.
        flip_rate: label noise.
        overlap: the integral; None for the standard Gaussian, where it is
            :math:`2 \Phi(-(\|\mu\| - \alpha))`.

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
