"""Arithmetic on the extended half-line [0, inf]: a size beyond the range of numbers is infinite, no error.

Hypotheses are asked at any setting. What a theorem wants there may have more than 308 digits, as in
d >= 10^291000, and is then simply not met.
"""

import math


def power(base: float, exponent: float) -> float:
    r"""Return :math:`a^p` for :math:`a \ge 0`, with :math:`0^p = \infty` for :math:`p < 0`.

    Args:
        base: a, not negative.
        exponent: p.

    >>> power(10.0, 400), power(0.0, -1), power(2.0, 3), power(1e-300, 2)
    (inf, inf, 8.0, 0.0)
    """
    try:
        return _float(base) ** exponent
    except (OverflowError, ZeroDivisionError):
        return math.inf


def ratio(numerator: float, denominator: float) -> float:
    r"""Return :math:`a / b` for :math:`a > 0` and :math:`b \ge 0`, one of them finite.

    A denominator that underflows gives infinity.

    Args:
        numerator: a, above zero.
        denominator: b, not negative.

    >>> ratio(1.0, 1e-300**2), ratio(1e300, 1e-300), ratio(1.0, 4.0)
    (inf, inf, 0.25)
    """
    try:
        return _float(numerator) / _float(denominator)
    except ZeroDivisionError:
        return math.inf


def exponential(exponent: float) -> float:
    r"""Return :math:`e^p`.

    Args:
        exponent: p.

    >>> exponential(1000.0), exponential(0.0), exponential(-1000.0)
    (inf, 1.0, 0.0)
    """
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def _float(number: float) -> float:
    """A whole number of more than 308 digits is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf
