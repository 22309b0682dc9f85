r"""Formulas of benign's lemmas: the margin bound, the ratio of loss derivatives, and the gradient's constant.

Symbols: :math:`\alpha` is `tau`, :math:`\beta` is `flip_rate`, :math:`\gamma` is `slope`, :math:`\kappa` is
the variance of one noise coordinate, and :math:`C_1 = 10/\kappa` bounds the squared length of a training
point over :math:`d` from above, :math:`1/C_1` from below.
"""

import math

from karat.core.checks import require_number


def margin_bound(
    margin_plus: float,
    margin_minus: float,
    lipschitz: float,
    tau: float,
    flip_rate: float,
    log_concavity: float = 1.0,
) -> float:
    r"""Upper bound on the robust error from the mean margin of each class, with no hidden constant.

    .. math::
        \beta + \sum_{k = \pm 1} \exp\Bigl(-\frac{\lambda}{2}
        \Bigl(\frac{\mathbb{E}[y f \mid y = k]}{L} - \alpha\Bigr)^2\Bigr)

    Args:
        margin_plus: mean of y f over the class +1.
        margin_minus: mean of y f over the class -1.
        lipschitz: a Lipschitz constant L of f.
        tau: attack radius.
        flip_rate: label noise.
        log_concavity: :math:`\lambda` of the cluster law.

    Holds when: both mean margins are at least :math:`L \alpha`; otherwise the bound is 1.
    Reading: c = 1/2, the constant of Lipschitz concentration for :math:`\lambda`-strongly log-concave laws.
        For :math:`|a_s| = 1` and the factor :math:`1/\sqrt{m}`, L may be the spectral norm of W.

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
    r"""Upper bound on the ratio of two loss derivatives, :math:`\max_{ij} g_i / g_j`, at every step.

    For smooth and for homogeneous activations

    .. math::
        \frac{16 (\sqrt{C_1 d} + \alpha)^2}{\gamma^2 (\sqrt{d/C_1} - \alpha)^2}
        \qquad\text{and}\qquad
        \frac{48 (C_1 d + \alpha^2)}{c_0 \gamma^2 (\sqrt{d/C_1} - \alpha)^2} .

    Args:
        d: input dimension.
        tau: attack radius.
        kappa: variance of one noise coordinate.
        slope: lower bound on the derivative of the activation.
        smooth: whether the activation is smooth or homogeneous.
        c0: share of the neurons that are active on a sample.

    Holds when: :math:`\alpha < \sqrt{d / C_1}`; infinite beyond.
    Reading: c0 is hidden and taken as 1, its strictest value.

    Ref: benign, Lemma B.9; benign, Lemma 4.4
    """
    C1 = 10 / require_number(kappa, "kappa", "loss_ratio_bound", positive=True)
    inner = math.sqrt(d / C1) - tau
    if inner <= 0 or slope == 0:
        return math.inf
    top = 16 * (math.sqrt(C1 * d) + tau) ** 2 if smooth else 48 * (C1 * d + tau**2) / c0
    return top / (slope**2 * inner**2)


def loss_ratio_reach(d: int, tau: float, elapsed: float, *, kappa: float) -> float:
    r"""Largest ratio of loss derivatives that training from f = 0 can produce at all in a given time.

    A gradient has norm at most :math:`R = \sqrt{C_1 d} + \alpha`, the largest length of a point in a training
    ball, and f moves by at most R times the movement of W. So margins stay within :math:`t R^2` of 0 until
    time t, and a ratio of :math:`g(z) = 1/(1 + e^z)` at two such margins is at most

    .. math::
        \exp(t R^2) .

    Args:
        d: input dimension.
        tau: attack radius.
        elapsed: the time t, the sum of the step sizes.
        kappa: variance of one noise coordinate.

    Ref: benign, Lemma 4.4
    """
    C1 = 10 / require_number(kappa, "kappa", "loss_ratio_reach", positive=True)
    # exp(700) is near the largest double; beyond it nothing is out of reach anyway.
    return math.exp(min(700.0, elapsed * (math.sqrt(C1 * d) + tau) ** 2))


def gradient_constant(*, kappa: float, slope: float) -> float:
    r"""The :math:`C_2` of the gradient bound for smooth activations, G being the mean loss derivative.

    .. math::
        \|\nabla L\|_F \le C_2 \sqrt{d/n}\, G, \qquad
        C_2 = \sqrt{5 C_1 C_r}, \qquad
        C_r = \frac{64 C_1}{\gamma^2} \Bigl(\sqrt{C_1} + \frac{1}{2 \sqrt{C_1}}\Bigr)^2

    Args:
        kappa: variance of one noise coordinate.
        slope: lower bound on the derivative of the activation.

    Ref: benign, Lemma 4.3; benign, Lemma B.14
    """
    C1 = 10 / require_number(kappa, "kappa", "gradient_constant", positive=True)
    C_r = 64 * C1 * (math.sqrt(C1) + 0.5 / math.sqrt(C1)) ** 2 / slope**2
    return math.sqrt(5 * C1 * C_r)
