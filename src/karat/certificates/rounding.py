"""What float64 arithmetic may get wrong, bounded before it happens and charged to every certificate."""

UNIT = 2.0**-53
"""Unit roundoff of float64."""

FUNCTION = 32 * UNIT
"""Relative error granted to one evaluation of an activation (erfcx, exp and ndtr included)."""


UNDERFLOW = 1e-290
"""Size added to whatever a relative error is taken of, so that products which round to zero are charged.

With k roundings gamma(k) * UNDERFLOW > k * 2.3e-308, the largest number that a product can lose.
"""


def gamma(operations: int) -> float:
    r""":math:`\gamma_k = k u / (1 - k u)`: relative error of a sum of products after k roundings.

    .. math:: \Big|\mathrm{fl}\Big(\sum_i a_i b_i\Big) - \sum_i a_i b_i\Big| \le \gamma_k \sum_i |a_i b_i|

    It doubles k, so that the terms may themselves be rounded and the bound be computed in floats.

    >>> gamma(1000) < 3e-13
    True
    """
    share = 2 * (operations + 8) * UNIT
    return share / (1 - share)
