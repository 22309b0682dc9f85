r"""Series and polynomials of the kernel's lower bound: coefficients of the smoothed ReLU, and Chebyshev's."""

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy import optimize


def smoothed_coefficients(count: int) -> tuple[list[float], list[float]]:
    r"""Taylor coefficients of a smoothed ReLU.

    .. math:: E[\rho\, 1_{\rho + x \ge 0}] = \sigma \sum_i c_{2i} (x/\sigma)^{2i}, \quad
        P(\rho + x \ge 0) = \tfrac12 + \sum_i c'_{2i+1} (x/\sigma)^{2i+1}, \quad
        c_{2i} = \frac{(-1)^i}{\sqrt{2\pi}\, 2^i\, i!}, \quad c'_{2i+1} = \frac{c_{2i}}{2i + 1}

    Args:
        count: how many of each.

    Reading: the derivative of :math:`P(\rho + x \ge 0)` is positive; the proof prints it with a minus.

    Ref: purification, Claim G.6
    """
    even = [(-1) ** i / (math.sqrt(2 * math.pi) * 2**i * math.factorial(i)) for i in range(count)]
    return even, [c / (2 * i + 1) for i, c in enumerate(even)]


def largest_coefficient(degree: int) -> float:
    r"""Largest coefficient of :math:`T_R(4 x - 3)`: no polynomial of size 1 on [1/2, 1] has a larger one.

    Args:
        degree: R.

    >>> largest_coefficient(2)
    48.0

    Ref: purification, Claim G.7
    """
    shifted = Chebyshev.basis(degree, domain=[0.5, 1.0]).convert(kind=Polynomial)
    return float(np.abs(shifted.coef).max())


def least_size(degree: int, nodes: int) -> float:
    r"""Smallest :math:`\max_x |p(x)|` over nodes of [1/2, 1] among polynomials with a coefficient of size 1.

    A linear programme for every coefficient that may be the one; nodes instead of the interval can only make
    it smaller.

    Args:
        degree: of the polynomials.
        nodes: how many points, at Chebyshev's extrema.

    Ref: purification, Claim G.7
    """
    x = 0.75 + 0.25 * np.cos(np.pi * np.arange(nodes) / max(1, nodes - 1))
    table = np.vander(x, degree + 1, increasing=True)
    ones = np.ones((nodes, 1))
    rows = np.block([[table, -ones], [-table, -ones]])
    cost = np.eye(degree + 2)[-1]
    free = [(None, None)] * (degree + 1) + [(0, None)]
    scale, values = largest_coefficient(degree), []  # sizes of order one, far from the solver's tolerance
    for fixed in range(degree + 1):
        equal = np.eye(degree + 2)[fixed : fixed + 1]
        found = optimize.linprog(cost, rows, np.zeros(2 * nodes), equal, [scale], free)
        values.append(float(found.fun) / scale)
    return min(values)
