r"""The law of the score :math:`\langle w^*, z \rangle`, without sampling.

The codes are independent, so that the characteristic function of a sum over some of them is a product, and
Gil-Pelaez's formula gives its probabilities. With :math:`w^* \in \{\pm 1\}^d` signs do not matter.

Symbols: a large code has size 1, a small one :math:`s/\sqrt k` with s uniform on [1, spread].
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

PERIOD = 60.0
"""Sums beyond half of it have probability below 1e-12: what the trapezoid rule wraps round."""
ROUNDING = 1e-12
"""By which equal sums of codes may differ."""
TAIL = 1e-10
"""Counts of codes that are less likely than this are left out."""


@dataclass(frozen=True, kw_only=True)
class ScoreLaw:
    r"""Rates of the codes over which the score sums.

    Args:
        k: sparsity.
        D: number of coordinates of the sum, :math:`|\Lambda|`.
        d: number of all coordinates, to which the rates refer.
        large_rate: expected number of large codes among all d.
        small_rate: expected number of small ones over k.
        spread: largest small code in units of :math:`1/\sqrt k`, >= 1; at 1 the score has no density.
    """

    k: int
    D: int
    d: int
    large_rate: float = 0.2
    small_rate: float = 0.15
    spread: float = 1.5

    @cached_property
    def atoms(self) -> tuple[Array, Array]:
        r"""Values and probabilities of a score whose small codes all have size :math:`1/\sqrt k`.

        >>> values, law = ScoreLaw(k=100, D=10_000, d=10_000, spread=1.0).atoms
        >>> round(float(law.sum()), 12), round(float(law @ values**2), 6)
        (1.0, 0.35)
        """
        if self.spread != 1:
            raise ValueError(f"`spread` of `atoms` must be 1, got {self.spread:g}: the score has a density.")
        large, small = self.large_rate / self.d, self.small_rate * self.k / self.d
        # Twelve standard deviations of the number of small codes, by which nothing wraps round.
        width = 2 ** math.ceil(math.log2(64 + 24 * math.sqrt(small * self.D)))
        sizes = (64, width)
        a, b = (2 * np.pi * np.arange(size) / size for size in sizes)
        on = large * np.cos(a)[:, None] + small * np.cos(b)
        law = np.fft.ifft2((1 - small - large + on) ** self.D).real
        at, steps = (np.fft.fftfreq(size, 1 / size) for size in sizes)
        return (at[:, None] + steps / math.sqrt(self.k)).ravel(), law.ravel()

    @cached_property
    def _characteristic(self) -> tuple[Array, Array]:
        """Frequencies, and the characteristic function without its part that has no small code."""
        large, small = self.large_rate / self.d, self.small_rate * self.k / self.d
        u = _frequencies(60.0 * math.sqrt(self.k))
        without = (1 - small - large + large * np.cos(u)) ** self.D
        every = (1 - small - large + large * np.cos(u) + small * _small(u, self)) ** self.D
        return u, every - without

    def near(self, t: float, r: float = 0.0) -> float:
        r""":math:`P(|\sum_{j \in \Lambda} w^*_j z_j - r| \le t)`.

        The part without small codes lives on the integers and is summed there; the rest has a density, and

        .. math:: P(|S - r| \le t) = \frac2\pi \int_0^\infty \frac{\sin(u t)}{u} \cos(u r)\, \varphi(u)\, du

        Args:
            t: half the width of the window.
            r: its centre.

        >>> law = ScoreLaw(k=100, D=10_000, d=10_000)
        >>> round(law.near(0.1), 3), round(law.near(20.0), 6)
        (0.137, 1.0)

        Ref: purification, Lemma H.1
        """
        if self.spread == 1:
            values, law = self.atoms
            return float(law[np.abs(values - r) <= t + ROUNDING].sum())
        large, small = self.large_rate / self.d, self.small_rate * self.k / self.d
        return _window(*self._characteristic, t, r) + self._integers(large, small, t, r)

    def _integers(self, large: float, small: float, t: float, r: float) -> float:
        """The same probability, together with no small code being on."""
        size = 64
        angle = 2 * np.pi * np.arange(size) / size
        law = np.fft.ifft((1 - small - large + large * np.cos(angle)) ** self.D).real
        at = np.fft.fftfreq(size, 1 / size)
        return float(law[np.abs(at - r) <= t].sum())

    def robust_error(self, tau: float) -> float:
        r"""Error of the thresholded oracle under its worst l2 perturbation, for :math:`\tau < 1/(2 \sqrt k)`.

        No coordinate can be pushed over the threshold then, and those that are on are slid together:

        .. math:: P\big(|\langle w^*, z \rangle| \le \tau \sqrt{\|z\|_0}\big)

        Args:
            tau: the radius.

        Reading: a score of exactly 0 counts as an error, whatever the sign of 0 is.

        Ref: purification, Sec 3
        """
        if self.spread == 1:
            raise ValueError("`spread` of `robust_error` must be > 1, got 1: the sums have no density.")
        if not 0 <= tau < 0.5 / math.sqrt(self.k):
            most = 0.5 / math.sqrt(self.k)
            raise ValueError(f"`tau` of `robust_error` must lie in [0, {most:g}), got {tau:g}.")
        large, small = self.large_rate / self.d, self.small_rate * self.k / self.d
        total = 0.0
        for count, weight in _counts(self.D, small):
            # A coordinate that is small is not large.
            larges = _counts(self.D - count, large / (1 - small))
            if count == 0:  # integers: only an even number of large codes can cancel
                total += weight * sum(p * _cancel(n) for n, p in larges)
                continue
            u = _frequencies(_highest(count) * math.sqrt(self.k))
            part, ones = _small(u, self) ** count, np.cos(u)
            for n, p in larges:
                total += weight * p * _window(u, part, tau * math.sqrt(count + n))
                part = part * ones
        return float(total)


def _highest(count: int) -> float:
    """Beyond this frequency the product of the characteristic functions of `count` small codes is nil."""
    if count < 4:
        return 400.0
    return 40.0 if count < 30 else min(8.0, 60.0 / math.sqrt(count))


def _frequencies(highest: float) -> Array:
    step = 2 * np.pi / PERIOD
    return np.asarray(step * np.arange(1, math.ceil(highest / step)), dtype=np.float64)


def _small(u: Array, law: ScoreLaw) -> Array:
    """Characteristic function of a small code with a random sign."""
    v = u / math.sqrt(law.k)
    values: Array = (np.sin(law.spread * v) - np.sin(v)) / ((law.spread - 1) * v)
    return values


def _window(u: Array, values: Array, t: float, r: float = 0.0) -> float:
    """Gil-Pelaez by the trapezoid rule, of a characteristic function that is `values` at u and 1 at 0."""
    step = 2 * np.pi / PERIOD
    at_zero = _at_zero(u, values)
    return float(2 / np.pi * step * (t * at_zero / 2 + (np.sin(u * t) / u * np.cos(u * r) * values).sum()))


def _at_zero(u: Array, values: Array) -> float:
    """The even function's value at 0, from its first three frequencies."""
    a, b, c = values[:3]
    return float(1.5 * a - 0.6 * b + 0.1 * c)


@cache
def _counts(D: int, rate: float) -> list[tuple[int, float]]:
    low, high = int(stats.binom.ppf(TAIL, D, rate)), int(stats.binom.isf(TAIL, D, rate))
    n = np.arange(low, high + 1)
    return list(zip(n.tolist(), stats.binom.pmf(n, D, rate).tolist(), strict=True))


def _cancel(n: int) -> float:
    """Probability that n signs cancel."""
    return math.comb(n, n // 2) / 2**n if n % 2 == 0 else 0.0
