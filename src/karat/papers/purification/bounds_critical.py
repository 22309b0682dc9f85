r"""The critical lemma on gradients, for laws with finitely many values: nothing is sampled but the law."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]

SLOPE = math.sqrt(2 / math.pi)
"""Constant of both parts (a) and (b): twice the largest density of a Gaussian."""


@dataclass(frozen=True, eq=False)
class SignedLaw:
    r"""Two independent symmetric variables :math:`S'_2, S''_2` with finitely many values, and the function Y.

    Values are listed such that the last is minus the first, and so on; :math:`S_1` is the pair of indices.

    Args:
        first: (p,) values of :math:`S'_2`.
        first_odds: (p,) their probabilities.
        second: (q,) values of :math:`S''_2`.
        second_odds: (q,) their probabilities.
        up: (p, q) Y(1, .).
        middle: (p, q) Y(0, .).
        down: (p, q) Y(-1, .).
        alpha: the shift.
        b: threshold.
        sigma: of the noise rho.
    """

    first: Array
    first_odds: Array
    second: Array
    second_odds: Array
    up: Array
    middle: Array
    down: Array
    alpha: float
    b: float
    sigma: float

    @property
    def odds(self) -> Array:
        """(p, q) probabilities of pairs."""
        return self.first_odds[:, None] * self.second_odds

    @property
    def total(self) -> Array:
        """(p, q) the sums S_2."""
        return self.first[:, None] + self.second

    @property
    def delta(self) -> float:
        r""":math:`E[Y(1, S_1) 1[\alpha + S_2 + \rho \ge b] - Y(-1, S_1) 1[-\alpha + S_2 + \rho \ge b]]`."""
        plus, minus = (ndtr((s * self.alpha + self.total - self.b) / self.sigma) for s in (1, -1))
        return float((self.odds * (self.up * plus - self.down * minus)).sum())

    @property
    def spread(self) -> float:
        r""":math:`\sqrt V / \sigma_\rho`."""
        return math.sqrt(float((self.odds * self.total**2).sum())) / self.sigma

    @property
    def jump(self) -> float:
        """L, the mean of |Y(1, S_1) - Y(0, S_1)|."""
        return float((self.odds * np.abs(self.up - self.middle)).sum())

    @property
    def plain_bound(self) -> float:
        r"""Part (a): :math:`\sqrt{2/\pi}\, \sqrt V/\sigma_\rho + 2 L`."""
        return SLOPE * self.spread + 2 * self.jump

    def fine_bound(self, eta: float) -> float:
        r"""Part (c), for :math:`\alpha \le (1 - 5 \eta) b`.

        .. math:: (e^{-2 \eta^2 b^2/\sigma^2} + \Gamma) (\min\{1, \sqrt{2/\pi}\, \alpha/\sigma\} + 2 L_y)
            + (2 + 2 L_y) \Gamma_y

        Args:
            eta: c2/(10 c1).

        Ref: purification, Lem C.5
        """
        level = eta * self.b
        far = float(self.odds[np.abs(self.total) >= level].sum())
        far_second = float(self.second_odds[np.abs(self.second) >= level].sum())
        jump = float((np.abs(self.up - self.middle) @ self.second_odds).max())
        rare = math.exp(-2 * (level / self.sigma) ** 2) + far
        return rare * (min(1.0, SLOPE * self.alpha / self.sigma) + 2 * jump) + (2 + 2 * jump) * far_second
