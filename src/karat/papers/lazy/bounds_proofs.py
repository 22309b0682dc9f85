r"""Steps of lazy's proofs that do not follow as printed, and what each needs instead.

Symbols: gamma is `p_fail`; everywhere |x| = 1, rows are N(0, I_d) and p_fail is the chance to fail.
"""

import math

from karat.core.checks import require_number

SUBSET = 44.0
"""The proof of Lemma B.9 sums over at most 44 max(1, C0) sqrt m neurons."""


def largest_row_printed(m: float, p_fail: float) -> float:
    r"""The printed bound :math:`\sqrt{\log(m/\gamma)}` on :math:`\max_s |\langle w_{s,0}, x \rangle|`.

    Args:
        m: width.
        p_fail: probability with which it is said to fail at most.

    Ref: lazy, Lem B.8
    """
    return math.sqrt(math.log(m / p_fail))


def largest_row_repaired(m: float, p_fail: float) -> float:
    r"""What the union bound over m two-sided Gaussian tails gives, :math:`\sqrt{2 \log(2 m/\gamma)}`.

    Args:
        m: width.
        p_fail: probability with which it may fail.

    Ref: lazy, Lem B.8
    """
    return math.sqrt(2 * math.log(2 * m / p_fail))


def largest_row_probability(m: float, limit: float) -> float:
    r"""The chance :math:`\mathrm{erf}(t/\sqrt 2)^m` that m independent standard normals lie within a limit.

    Args:
        m: how many.
        limit: t.

    >>> round(largest_row_probability(1, 1.959964), 6)
    0.95
    """
    require_number(limit, "limit", "largest_row_probability", minimum=0)
    outside = math.erfc(limit / math.sqrt(2))
    # The power of a number next to one: through its logarithm, or all digits are lost.
    return math.exp(m * math.log1p(-outside)) if outside < 1 else 0.0


def width_printed(d: float, m: float) -> float:
    r"""Left over right side of the printed :math:`0.33\, d \log(m d) \le \sqrt m`.

    Args:
        d: input dimension.
        m: width.

    Ref: lazy, Lem B.9
    """
    return 0.33 * d * (math.log(m) + math.log(d)) / math.sqrt(m)


def width_repaired(d: float, m: float) -> float:
    r"""Left over right side of what the line needs, :math:`2.3\, d \log(m d) \le (7 + 44 \log(4/e)) \sqrt m`.

    The exponent of the union bound is :math:`-p m + 2.3\, d \log(m d) + 44 \max(1, C_0) \sqrt m \log(e/4)`
    with :math:`p m \ge 8 \sqrt m`. The print drops the last term, which is :math:`-17 \sqrt m` and more.

    Args:
        d: input dimension.
        m: width.

    Ref: lazy, Lem B.9
    """
    return 2.3 * d * (math.log(m) + math.log(d)) / ((7 + SUBSET * (math.log(4) - 1)) * math.sqrt(m))


def width_step_begins(exponent: float = 2.4) -> float:
    r"""The dimension from which on the printed step holds at :math:`m = d^{2.4}`, by bisection.

    Its left side over the right one rises up to :math:`d = e^{1/(p/2 - 1)}`, p the exponent, and falls from
    there on.

    Args:
        exponent: p, above 2.

    >>> f"{width_step_begins():.2e}"
    '8.40e+05'
    """
    low = 1 / (exponent / 2 - 1)
    high = 600.0 / exponent
    for _ in range(100):
        middle = (low + high) / 2
        d = math.exp(middle)
        low, high = (middle, high) if width_printed(d, d**exponent) > 1 else (low, middle)
    return math.exp(high)


def subset_union_repaired(m: float, C0: float, p_fail: float) -> float:
    r"""The bound over all subsets of :math:`44 \max(1, C_0) \sqrt m` rows without the printed factor C0.

    .. math:: 113 \max(1, C_0) \sqrt{\log m + \frac{2}{\sqrt m} \log(8/\gamma)}

    The line before it adds up to at most so much for :math:`C_0 \le \sqrt m` and :math:`m \ge d^{2.4}`:
    :math:`\sqrt{44 \cdot 88} + \sqrt{44} + 44 \le 113`.

    Args:
        m: width.
        C0: radius of the ball times sqrt m.
        p_fail: probability with which it may fail.

    Ref: lazy, Lem B.9
    """
    return 113 * max(1.0, C0) * math.sqrt(math.log(m) + 2 / math.sqrt(m) * math.log(8 / p_fail))


def dimension_step(d: float, m: float, p_fail: float) -> float:
    r"""Left over right side of :math:`\log(4 m/\gamma)^2 \le d`, a hypothesis of the proof of Lemma B.9.

    Args:
        d: input dimension.
        m: width.
        p_fail: of the lemma.

    Ref: lazy, Lem B.9
    """
    return math.log(4 * m / p_fail) ** 2 / d


def last_line(m: float, p_fail: float) -> float:
    r"""Left over right side of :math:`\log(1/\gamma) \le \sqrt m`, the line that the hypothesis is named for.

    Args:
        m: width.
        p_fail: of the lemma.

    Ref: lazy, Lem B.9
    """
    return math.log(1 / p_fail) / math.sqrt(m)
