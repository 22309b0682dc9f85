r"""Exact tails of sums of signs, and the bounds on them that the appendix states.

A sum of N independent signs is :math:`2 B - N` with a binomial B: its tails are known to any distance.
"""

import math

from scipy import stats


def sign_tail(N: int, t: float, up: float = 0.5) -> float:
    r"""Logarithm of :math:`P(\sum_i \epsilon_i \ge t)` for N signs that are +1 with probability `up`.

    Args:
        N: number of signs.
        t: the distance.
        up: probability of +1.

    >>> round(sign_tail(2, 2.0), 4) == round(math.log(0.25), 4)
    True
    """
    least = math.ceil((N + t) / 2 - 1e-9)
    return 0.0 if least <= 0 else float(stats.binom.logsf(least - 1, N, up))


def skew_tail(N: int, t: float, up: float, rise: float = 0.0) -> float:
    r"""Logarithm of :math:`P(X_N > t)` for a walk with steps :math:`\le 1` and mean `rise` a step.

    A step is 1 with probability `up`, and otherwise what gives the mean.

    Args:
        N: number of steps.
        t: the distance.
        up: probability of a step up, in (0, 1).
        rise: mean of a step, below 1.

    Ref: purification, Lem H.4
    """
    down = (up - rise) / (1 - up)
    # X = B - (N - B) down > t for a binomial B.
    least = math.floor((t + N * down) / (1 + down) + 1e-9) + 1
    return 0.0 if least <= 0 else float(stats.binom.logsf(least - 1, N, up))


def bernstein_exponent(t: float, c: float, variance: float) -> float:
    r"""The exponent :math:`t^2/(t c + V)` of one-sided Bernstein bounds, without its constant.

    Args:
        t: the distance.
        c: largest step.
        variance: V, the sum of the bounds on the steps' squares.

    Reading: with :math:`e^y \le 1 + y + y^2` for :math:`y \le 1/2` the proof gives the constant 1/4:
        :math:`\eta = \min(1, t c/V)` in :math:`\eta^2 V/(4 c^2) - \eta t/(2 c)` is at most
        :math:`-t^2/(4 (t c + V))`.

    Ref: purification, Lem H.4
    """
    return t**2 / (t * c + variance)


def mcdiarmid(t: float, squares: float) -> float:
    r"""McDiarmid's exponent :math:`2 t^2/\sum_i c_i^2`.

    Args:
        t: the distance.
        squares: sum of the squared differences.

    Ref: purification, Lem H.2
    """
    return 2 * t**2 / squares
