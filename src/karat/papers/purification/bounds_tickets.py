r"""Lucky neurons at a Gaussian start, exact at every dimension because only :math:`\log d` enters.

A coefficient of a row has :math:`\langle M_j, w_i \rangle^2 \ge c\, \sigma_0^2 \log d` with probability
:math:`q_c = 2 Q(\sqrt{c \log d})`; the coefficients of a row are independent.
"""

import math
from dataclasses import dataclass

from scipy import optimize
from scipy.special import log_ndtr

LEVELS = (2.0, 2.01, 2.02)
"""Levels of usual, potentially lucky and surely lucky coefficients."""


def log_tail(level: float, log_d: float) -> float:
    r"""Logarithm of :math:`q_c = 2 Q(\sqrt{c \log d})`.

    Args:
        level: c.
        log_d: logarithm of the dimension.

    Ref: purification, Sec 6.1
    """
    return math.log(2) + float(log_ndtr(-math.sqrt(level * log_d)))


@dataclass(frozen=True, kw_only=True)
class LuckyShares:
    r"""Shares of neurons, and expected numbers per feature with :math:`m = d^x` neurons, as logarithms.

    Args:
        unusual: log of one minus the share with no coefficient above the first level.
        potential: log of the share with a coefficient above the second level.
        sure: log of the share with one above the third level and all others below the second.
        sure_per_feature: log of the expected number of sure neurons of one feature.
        potential_per_feature: log of the expected number of neurons above the second level at one feature.
    """

    unusual: float
    potential: float
    sure: float
    sure_per_feature: float
    potential_per_feature: float


def lucky_shares(log_d: float, width: float, shift: float = 0.0) -> LuckyShares:
    r"""Exact shares of the three kinds of neurons.

    .. math:: 1 - (1 - q_2)^d, \qquad 1 - (1 - q_{2.01})^d, \qquad d\, q_{2.02} (1 - q_{2.01})^{d - 1}

    Args:
        log_d: logarithm of the dimension, positive.
        width: x of m = d^x.
        shift: added to the levels.

    Ref: purification, Sec 6.1
    """
    usual, low, high = (log_tail(level + shift, log_d) for level in LEVELS)
    others = _log_none(low, log_d)
    return LuckyShares(
        unusual=_log_some(usual, log_d),
        potential=_log_some(low, log_d),
        sure=log_d + high + others,
        sure_per_feature=width * log_d + high + others,
        potential_per_feature=width * log_d + low,
    )


def _log_none(log_q: float, log_d: float) -> float:
    """Log of the probability (1 - q)^d that no coefficient is large."""
    if log_d < 30:
        return math.exp(log_d) * math.log1p(-math.exp(log_q))
    # There q is below 1e-13, unless the levels are lowered: then the probability is nil, whatever its size.
    return -math.exp(min(log_d + log_q, 700.0))


def _log_some(log_q: float, log_d: float) -> float:
    """Log of the probability that some coefficient is large."""
    if log_d + log_q < -30:  # the union bound is exact to rounding
        return log_d + log_q
    return math.log(-math.expm1(_log_none(log_q, log_d)))


def every_feature_from(width: float) -> float:
    r"""From which :math:`\log_{10} d` on every feature has a sure neuron, where :math:`m = d^x`.

    For all d features to have one with probability :math:`1 - d^{-3}` each must expect :math:`4 \log d` of
    them; with :math:`x \le 1.01` none ever expects one.

    Args:
        width: x of m = d^x.

    >>> round(every_feature_from(1.1), 0)
    43.0
    >>> every_feature_from(1.01)
    inf

    Ref: purification, Sec 6.1
    """
    if width <= LEVELS[2] / 2:
        return math.inf

    def missing(log_d: float) -> float:
        return math.log(4 * log_d) - lucky_shares(log_d, width).sure_per_feature

    low = 2 / (width - LEVELS[2] / 2)  # about where the number over 4 log d is smallest
    high = low
    while missing(high) > 0:
        high *= 2
    return float(optimize.brentq(missing, low, high)) / math.log(10)
