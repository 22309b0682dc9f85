r"""Closed forms of the lemmas at one hidden layer: worst cases over the ball as :math:`m \to \infty`.

At a unit input the preactivations of :math:`W_1` are N(0, 4/m), and those of a net of :math:`B(R)` differ by
:math:`\delta` with :math:`\|\delta\| \le R \sqrt{2/m}`. Few neurons change side, so that only the density of
the preactivations at 0 counts, and sums over neurons become integrals of powers.

Symbols: :math:`R` is `radius`.
"""

import math

from karat.core.extended import power, ratio


def worst_share(radius: float, m: int) -> float:
    r"""Return the largest share of activation signs that changes in the ball.

    .. math:: \Big(\frac{3}{\pi}\Big)^{1/3} \Big(\frac{R}{\sqrt m}\Big)^{2/3}

    The k smallest of :math:`|z_s|` have squares of sum :math:`2 R^2 / m`, and :math:`|z|` has the density
    :math:`\sqrt{m / (2 \pi)}` at 0.

    Args:
        radius: of the ball, without its factor :math:`1/\sqrt m`.
        m: width.

    Ref: convergence, Eq 10
    """
    return float((3 / math.pi * radius**2 / m) ** (1 / 3))


def worst_gradient_change(radius: float, m: int) -> float:
    r"""Return the largest change of the gradient in the ball.

    .. math:: \Big(\frac{192}{\pi^2}\Big)^{1/6} (R m)^{1/3}

    It is :math:`\sqrt{2 \sum a_s^2}` over the neurons that change side, those of smallest
    :math:`|z_s|/|a_s|`.

    Args:
        radius: of the ball, without its factor :math:`1/\sqrt m`.
        m: width.

    Ref: convergence, Lem A.5
    """
    return float((192 / math.pi**2) ** (1 / 6) * (radius * m) ** (1 / 3))


def worst_non_convexity(radius: float, m: int) -> float:
    r"""Return the largest :math:`f(W_1) + \langle \nabla f(W_1), W_2 - W_1\rangle - f(W_2)` of two nets.

    .. math:: \Big(\frac{4}{\pi}\Big)^{1/3} 3^{1/6} \Big(1 + \frac{\sqrt 3}{2}\Big) R^{4/3} m^{-1/6}

    :math:`W_1` brings the neurons of smallest :math:`|z_s|/|a_s|` with one sign of :math:`a_s` just beyond
    their kink, :math:`W_2` takes the same neurons as far as it can to the other side.

    Args:
        radius: of the ball that holds both, without its factor :math:`1/\sqrt m`.
        m: width.

    Ref: convergence, Lem A.6
    """
    constant = (4 / math.pi) ** (1 / 3) * 3 ** (1 / 6) * (1 + math.sqrt(3) / 2)
    return float(constant * radius ** (4 / 3) * m ** (-1 / 6))


def proved_gap(radius: float, m: int, step: float, steps: int) -> float:
    r"""Return the gap that the recursion of Theorem 4.1 proves at H = 1, with its constants.

    .. math:: \frac{R^2}{2 m \alpha T} + N + \frac{\alpha G^2}{2}
        = \frac{R^2}{2 \, \text{step} \, T} + N + \frac{\text{step}}{2}, \qquad \alpha = \text{step} / m,

    with the worst missing convexity N of the ball. The gradient of a wide start has :math:`G^2 = m`: half of
    the neurons are on, and the layer below has the squared length 2.

    Args:
        radius: of the ball, without its factor :math:`1/\sqrt m`.
        m: width.
        step: the learning rate times m.
        steps: :math:`T`.

    Ref: convergence, Thm 4.1
    """
    return radius**2 / (2 * step * steps) + worst_non_convexity(radius, m) + step / 2


def proved_width(radius: float, tol: float) -> float:
    r"""Return the width from which the recursion proves a gap of `tol`, a third of it for each of its terms.

    .. math:: \Big(\frac{3 C R^{4/3}}{\epsilon}\Big)^6, \qquad C = 2.43,

    at :math:`\alpha = 2 \epsilon / (3 m)` and :math:`T = 9 R^2 / (4 \epsilon^2)`.

    Args:
        radius: of the ball, without its factor :math:`1/\sqrt m`.
        tol: the target :math:`\epsilon`.

    Ref: convergence, Thm 4.1
    """
    return power(ratio(3 * worst_non_convexity(radius, 1), tol), 6)


def worst_gain_over_start(radius: float, m: int) -> float:
    r"""Return the same for :math:`W_1 = W_0`: by how much a net of the ball exceeds its linearisation.

    .. math:: \frac{3}{2} (4 \pi)^{-1/3} R^{4/3} m^{-1/6}

    Args:
        radius: of the ball, without its factor :math:`1/\sqrt m`.
        m: width.

    Ref: convergence, Lem A.6
    """
    return float(1.5 * (4 * math.pi) ** (-1 / 3) * radius ** (4 / 3) * m ** (-1 / 6))
