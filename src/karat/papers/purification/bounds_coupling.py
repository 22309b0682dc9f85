r"""The comparison weights :math:`\mu^*`, and the loss of the linear net that they stand for."""

import math

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from karat.papers.purification.bounds_scores import ScoreLaw

NODES = 96
"""Of Gauss and Laguerre's rule; the integrand is smooth at k = inf, and sampled densely enough for all k."""


def log_sure_winners(log_d: float, c0: float, gamma: float) -> float:
    r"""Logarithm of the expected number of sure winners of a feature, :math:`m = d^{1 + c_0}`.

    .. math:: d^{1 + c_0} \, Q(s_+) \, (1 - 2 Q(s_-))^{d - 1}, \qquad s_\pm = \sqrt{(c_1 \pm c_2) \log d}

    Args:
        log_d: logarithm of the dimension.
        c0: exponent of the width.
        gamma: slack of the lottery's levels.

    Ref: purification, Lemma B.2
    """
    c1, c2 = 2 + 2 * (1 - gamma) * c0, gamma * c0
    high, low = (float(log_ndtr(-math.sqrt((c1 + sign * c2) * log_d))) for sign in (1, -1))
    return (1 + c0) * log_d + high - math.exp(min(log_d + math.log(2) + low, 700.0))


def coupled_loss(
    alpha: float,
    k: int | None,
    *,
    large_rate: float = 0.2,
    small_rate: float = 1.0,
    small_spread: float = 1.5,
) -> float:
    r"""The loss of the linear net that the coupling ends at.

    .. math:: E \log(1 + e^{-\alpha |\langle w^*, z \rangle|})
        = \int_0^\infty \frac{\alpha}{1 + e^{\alpha t}} P(|\langle w^*, z \rangle| \le t) \, dt

    Args:
        alpha: the factor.
        k: sparsity, at :math:`d = k^{2.5}`; None for the limit of large k, in which small codes add up to a
            Gaussian and large ones are Poisson.
        large_rate: expected number of codes of size one.
        small_rate: expected number of small ones over k.
        small_spread: largest small code in units of :math:`1/\sqrt k`; at 1 the score lives on a lattice,
            over which the loss is summed.

    Reading: the proof prints the integral of :math:`\log(1 + e^{-\alpha t}) P(\cdot)`, without the
        derivative that integration by parts leaves.

    >>> round(10 * coupled_loss(10.0, None), 3), round(100 * coupled_loss(100.0, None), 3)
    (0.492, 0.495)

    Ref: purification, Lem D.6(b)
    """
    nodes, weights = np.polynomial.laguerre.laggauss(NODES)
    times = nodes / alpha
    if k is None:
        mass = _limit_mass(times, large_rate, small_rate * (1 + small_spread + small_spread**2) / 3)
    else:
        d = math.ceil(k**2.5)
        law = ScoreLaw(k=k, D=d, d=d, large_rate=large_rate, small_rate=small_rate, spread=small_spread)
        if small_spread == 1:
            values, weight = law.atoms
            return float(weight @ np.logaddexp(0.0, -alpha * np.abs(values)))
        mass = np.array([law.near(float(t)) for t in times])
    used = weights > 1e-20
    return float((weights[used] / (1 + np.exp(-nodes[used])) * mass[used]).sum())


def _limit_mass(times: np.ndarray, large_rate: float, variance: float) -> np.ndarray:
    """P(|S| <= t) of Poisson many signs and a Gaussian."""
    at = np.arange(-30, 31)
    weights = stats.skellam.pmf(at, large_rate / 2, large_rate / 2)
    scale = math.sqrt(variance)
    high, low = (stats.norm.cdf((side * times[:, None] - at) / scale) for side in (1, -1))
    return np.asarray((high - low) @ weights)
