r"""How many parameters interpolation takes, plain and robust: a net on a line, and what shattering demands.

Symbols: :math:`\delta` is `tau`, :math:`n` the number of points.
"""

import math

from karat.core.checks import require_integer


def line_net_parameters(n: int, d: int) -> int:
    """Return the parameters of the net that looks at one direction and has a kink at all points but one.

    A direction of length d, n - 1 kinks, n - 1 output weights and an output bias.

    Args:
        n: points.
        d: dimension.

    >>> line_net_parameters(10, 5)
    24

    Ref: convergence, Eq 7
    """
    return d + 2 * (n - 1) + 1


def two_layer_parameters(width: int, d: int) -> int:
    """Return the parameters of a two-layer net: of every neuron d + 2, and an output bias.

    Args:
        width: hidden neurons.
        d: dimension.
    """
    return width * (d + 2) + 1


def log_labellings(points: int, width: int, d: int) -> float:
    r"""Return a bound on :math:`\log_2` of how many labellings of N points two-layer ReLU nets reach.

    Every neuron cuts the points in one of :math:`C = 2 \sum_{j \le d} \binom{N-1}{j}` ways (Cover). Between
    these cuts an output is a polynomial of degree 2 in the P parameters, and N of them have at most
    :math:`(8 e N / P)^P` patterns of signs if :math:`N \ge P` (Warren):

    .. math:: \log_2 \# \le m \log_2 C + P \log_2 (8 e N / P), \qquad P = m (d + 2) + 1

    Args:
        points: N.
        width: m.
        d: dimension.

    Ref: convergence, Eq 7
    """
    P = two_layer_parameters(width, d)
    if points <= P:
        return float(points)  # all labellings
    cuts = 2 * sum(math.comb(points - 1, j) for j in range(d + 1))
    return width * math.log2(cuts) + P * math.log2(8 * math.e * points / P)


def robust_width_floor(n: int, d: int) -> int:
    r"""Return a width below which two-layer ReLU nets are no n-robust interpolation class.

    Such a class shatters :math:`N = \lfloor n/2 \rfloor d` points; the width is the smallest one whose
    number of labellings may reach :math:`2^N`.

    Args:
        n: points of the class.
        d: dimension.

    Reading: about :math:`n / (8 \log n)`, whatever d is.

    Ref: convergence, Thm 6.1
    """
    require_integer(n, "n", "robust_width_floor", minimum=2)
    points = n // 2 * d
    low, high = 1, points  # the bound grows with the width up to P = N, where it allows all labellings
    while low < high:
        middle = (low + high) // 2
        if log_labellings(points, middle, d) >= points:
            high = middle
        else:
            low = middle + 1
    return low
