r"""Closed forms of the lemmas at one hidden layer: worst cases over the ball as :math:`m \to \infty`.

At a unit input the preactivations of :math:`W_1` are N(0, 4/m), and those of a net of :math:`B(R)` differ by
:math:`\delta` with :math:`\|\delta\| \le R \sqrt{2/m}`. Few neurons change side, so that only the density of
the preactivations at 0 counts, and sums over neurons become integrals of powers.

Symbols: :math:`R` is `radius`.
"""

import math


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


def worst_gain_over_start(radius: float, m: int) -> float:
    r"""Return the same for :math:`W_1 = W_0`: by how much a net of the ball exceeds its linearisation.

    .. math:: \frac{3}{2} (4 \pi)^{-1/3} R^{4/3} m^{-1/6}

    Args:
        radius: of the ball, without its factor :math:`1/\sqrt m`.
        m: width.

    Ref: convergence, Lem A.6
    """
    return float(1.5 * (4 * math.pi) ** (-1 / 3) * radius ** (4 / 3) * m ** (-1 / 6))
