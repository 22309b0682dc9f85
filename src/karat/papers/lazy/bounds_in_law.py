"""How often one point defeats the whole lazy ball, and from which dimension on: formulas for wide nets."""

import math
from statistics import NormalDist

from karat.core.checks import require_number


def _decline(tau: float) -> float:
    r"""How far the best walk of length tau takes a wide net, in units of its gradient: :math:`k` below."""
    angle = math.asin(tau)
    return math.sin(angle) * (1 - angle / math.pi)


def defeated_share(d: int, C0: float, tau: float) -> float:
    r"""The probability that one point defeats all nets of the lazy ball at once, in the limit of wide nets.

    The point lies at a distance :math:`\tau = \sin\theta` of x, against the start's gradient and at an angle
    :math:`\theta`. There the largest margin of the ball separates over neurons, and is in the limit Gaussian:

    .. math:: \sup_W y f(p; W) \sim N\Big( \frac{C_0}{2} - k \sqrt{\frac{d - 3/2}{2}}, \;
        \frac12 - \frac{k^2}{4} \Big), \qquad k = \sin\theta \, \Big( 1 - \frac{\theta}{\pi} \Big).

    Rows turned towards p add :math:`V \sqrt m / 2 = C_0/2`, exactly in the mean. The start goes down by its
    gradient, whose length is :math:`\chi_{d-1}/\sqrt 2`, on the share :math:`1 - \theta/\pi` of its active
    neurons that are still active at p. Its value at p has variance 1/2 before the gradient is known, of which
    the gradient's own direction is a share :math:`k^2`; the variance of :math:`\chi`, 1/2, gives half of
    that back.

    Args:
        d: input dimension.
        C0: radius of the ball times sqrt m.
        tau: attack radius, 0 to 1.

    >>> round(defeated_share(784, 10.0, 0.3), 2)
    0.7

    Ref: lazy, Cor 3.2
    """
    require_number(tau, "tau", "defeated_share", minimum=0, maximum=1)
    k = _decline(tau)
    mean = C0 / 2 - k * math.sqrt(max(0.0, d - 1.5) / 2)
    return NormalDist().cdf(-mean / math.sqrt(1 / 2 - k**2 / 4))


def defeating_dimension(C0: float, tau: float, share: float) -> float:
    r"""The dimension from which on one point defeats the whole ball with this probability, in wide nets.

    .. math:: d^*(C_0) = \frac32 + \frac{2}{k^2} \Big( \frac{C_0}{2}
        + \Phi^{-1}(\text{share}) \sqrt{\frac12 - \frac{k^2}{4}} \Big)^2

    Args:
        C0: radius of the ball times sqrt m.
        tau: attack radius, above 0 and at most 1.
        share: probability, at least 1/2.

    >>> round(defeating_dimension(10.0, 0.5, 0.9))
    398

    Ref: lazy, Cor 3.2
    """
    require_number(tau, "tau", "defeating_dimension", positive=True, maximum=1)
    require_number(share, "share", "defeating_dimension", minimum=0.5, maximum=1 - 1e-12)
    k = _decline(tau)
    reach = C0 / 2 + NormalDist().inv_cdf(share) * math.sqrt(1 / 2 - k**2 / 4)
    return 1.5 + 2 * (reach / k) ** 2


def withstanding_share(C0: float, C2: float) -> float:
    r"""The probability that a net of the lazy ball withstands one step of size C2/|grad f|^2, at least.

    In wide nets of a large dimension a gradient step of this size takes |f| down by C2 to first order,
    whatever the gradient is, and the net whose rows all turn towards x has the largest
    :math:`|f(x)| = |f_0| + C_0/2` of the ball, with :math:`f_0 \sim N(0, 1/2)`:

    .. math:: P = 2 \big( 1 - \Phi( \sqrt 2 \, (C_2 - C_0/2) ) \big), \qquad 1 \text{ for } C_2 \le C_0/2.

    Args:
        C0: radius of the ball times sqrt m.
        C2: of the step size.

    >>> round(withstanding_share(1.0, step_constant(1.0, 0.1)), 12)
    0.1

    Ref: lazy, Thm 3.1
    """
    return min(1.0, 2 * NormalDist().cdf(-math.sqrt(2) * (C2 - C0 / 2)))


def step_constant(C0: float, p_fail: float) -> float:
    r"""The C2 at which the net of `withstanding_share` withstands the step with probability p_fail.

    .. math:: C_2 = \frac{C_0}{2} + \frac{1}{\sqrt 2} \Phi^{-1}\Big( 1 - \frac{p_\text{fail}}{2} \Big)

    Args:
        C0: radius of the ball times sqrt m.
        p_fail: probability of failure.

    >>> round(step_constant(1.0, 0.1), 2), round(step_constant(10.0, 0.1), 2)
    (1.66, 6.16)

    Ref: lazy, Thm 3.1
    """
    require_number(p_fail, "p_fail", "step_constant", positive=True, maximum=1)
    return C0 / 2 - NormalDist().inv_cdf(p_fail / 2) / math.sqrt(2)
