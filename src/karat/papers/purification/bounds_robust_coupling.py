r"""Right-hand sides of the lemmas on robust coupling and on the growth of neurons; hidden constants are 1.

Symbols: r is the root mean square length of the dense parts :math:`v_i`, `longest` the text's :math:`r'`, the
    longest of them (in l2 or in l1), `spread` the text's :math:`\Xi_2`.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CouplingSizes:
    r"""What the lemmas speak of.

    Args:
        d: input dimension.
        k: sparsity.
        m: pairs of neurons.
        c0: exponent of the width.
        spread: :math:`\Xi_2`.
        threshold: b.
        sigma_rho: standard deviation of the neuron noise.
        tau: radius of the perturbations.
        p: their norm, 2 or inf.
        r: root mean square length of the dense parts.
        longest: of the dense parts, in the dual norm of the perturbations.
    """

    d: int
    k: int
    m: int
    c0: float
    spread: float
    threshold: float
    sigma_rho: float
    tau: float
    p: float
    r: float
    longest: float

    @property
    def awakened(self) -> float:
        r""":math:`r^2 m / (d b^2)`, Chebyshev's bound on the neurons that dense parts wake."""
        return self.r**2 * self.m / (self.d * self.threshold**2)


def frozen_gates(s: CouplingSizes) -> float:
    r"""How far a net is from itself with the gates of the unperturbed input.

    .. math:: \tau^2 \Big( \frac{\Xi_2^5}{\sigma_\rho} + \frac{(\Xi_2^2 + r')^2 r^2 m}{d b^2 \sigma_\rho}
        \Big) \text{ in } \ell_2, \qquad
        \tau^2 \Big( \frac{k \Xi_2^5}{\sigma_\rho} + \frac{(\Xi_2^2 + r')^2 r^2 m}{d b^2 \sigma_\rho}
        + \frac{(r')^2 k \Xi_2}{\sigma_\rho} \Big) \text{ in } \ell_\infty

    Args:
        s: the sizes.

    Ref: purification, Lem F.11; purification, Lem F.13
    """
    dense = (s.spread**2 + s.longest) ** 2 * s.awakened
    own = s.spread**5 if s.p == 2 else s.k * s.spread**5 + s.longest**2 * s.k * s.spread
    return s.tau**2 * (own + dense) / s.sigma_rho


def frozen_gates_later(s: CouplingSizes) -> float:
    r"""The corollary for dense parts of the size that training keeps them at.

    .. math:: \tau^2 \Big( \frac{\Xi_2^5}{\sigma_\rho} + \frac{k^{3.5}}{d^{1 - 2 c_0}} \Big)
        \text{ in } \ell_2, \qquad \tau^2 k^{3.5} d^{c_0} \text{ in } \ell_\infty

    Args:
        s: the sizes; the column sum of the dictionary is one.

    Ref: purification, Lem F.11; purification, Lem F.13
    """
    if s.p == 2:
        return s.tau**2 * (s.spread**5 / s.sigma_rho + s.k**3.5 / s.d ** (1 - 2 * s.c0))
    return float(s.tau**2 * s.k**3.5 * s.d**s.c0)


def pure_part(s: CouplingSizes) -> float:
    r"""How far the pure features with present gates, under attack, are from the clean net without attack.

    .. math:: \frac{m r^2}{d \sigma_\rho} + k \Xi_2 \frac{r \log d}{\sqrt d} + \tau \Xi_2^3
        \Big( k \Xi_2 + \frac{r^2 m}{d b^2} \Big)^{1/2}, \qquad \text{without the root in } \ell_\infty

    Args:
        s: the sizes.

    Ref: purification, Lem F.12; purification, Lem F.14
    """
    woken = s.k * s.spread + s.awakened
    pushed = s.tau * s.spread**3 * (math.sqrt(woken) if s.p == 2 else woken)
    dense = s.m * s.r**2 / (s.d * s.sigma_rho)
    return dense + s.k * s.spread * s.r * math.log(s.d) / math.sqrt(s.d) + pushed


def pure_part_later(s: CouplingSizes) -> float:
    r"""The corollary for dense parts of the size that training keeps them at.

    .. math:: \frac{k^{2.5}}{d^{1 - 2 c_0}} + \tau \sqrt{k \Xi_2^7} \text{ in } \ell_2, \qquad
        \frac{k^{2.5}}{d^{1 - 2 c_0}} + \tau k \Xi_2^4 \text{ in } \ell_\infty

    Args:
        s: the sizes.

    Ref: purification, Lem F.12; purification, Lem F.14
    """
    pushed = math.sqrt(s.k * s.spread**7) if s.p == 2 else s.k * s.spread**4
    return s.k**2.5 / s.d ** (1 - 2 * s.c0) + s.tau * pushed


def neuron_movement(s: CouplingSizes) -> float:
    r"""How far one unit of step length moves a neuron, in l2 without input noise or in l1.

    .. math:: \Big( \frac kd + \frac{(r')^2 \log d}{d b^2} \Big) \tau + \frac{\sqrt k}{d}
        + \frac{(r')^2}{d b^2} \sqrt{\frac kd} + \frac{r'}{d b}, \qquad
        \Big( \frac kd + \frac{(r')^2}{d b^2} \Big) (\tau d + \log d)

    Args:
        s: the sizes; the column sum of the dictionary is one.

    Ref: purification, Lem F.15; purification, Lem F.16
    """
    woken = s.longest**2 / (s.d * s.threshold**2)
    if s.p != 2:
        return (s.k / s.d + woken) * (s.tau * s.d + math.log(s.d))
    pushed = (s.k / s.d + woken * math.log(s.d)) * s.tau
    own = math.sqrt(s.k) / s.d + s.longest / (s.d * s.threshold)
    return pushed + own + woken * math.sqrt(s.k / s.d)
