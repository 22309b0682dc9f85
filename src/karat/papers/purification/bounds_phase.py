r"""The lottery's first phase: hypotheses of its lemmas on single neurons, and the tail of a projection."""

import math

from karat.papers.purification.bounds_hypotheses import of_the_data
from karat.study.hypothesis import Condition, at_most, is_so, not_checkable, waived


def early_tail(multiple: float, d: int) -> float:
    r"""How often an ordinary neuron may see more than :math:`\lambda \sigma_w`, with the constant one.

    .. math:: P(|\langle w_i, x \rangle| \ge \lambda \sigma_w) \le
        e^{-\lambda / \log^{1/4} d} + e^{-\log^{1/4} d}

    Args:
        multiple: :math:`\lambda`.
        d: input dimension.

    Returns:
        The bound; above one it says nothing.

    Holds when: the neuron is in S_ept.

    Reading: the hidden constant of :math:`\Omega(\lambda / \log^{1/4} d)` is one.

    Example:
        >>> round(early_tail(3.0, 100_000), 3)
        0.355

    Ref: purification, Lem C.4(a)
    """
    root = math.log(d) ** 0.25
    return math.exp(-multiple / root) + math.exp(-root)


def of_the_first_phase(d: int, k: int, c0: float, threshold: float) -> list[Condition]:
    r"""What the lemmas of Appendix C.3 ask of data, start and schedule.

    .. math:: k \le d^{0.499}, \quad k < d^{(1 - c_0)/2}, \quad k \log^{2.5} d \le d, \quad
        b_0 = \sqrt{c_1 \log d}\, \sigma_0

    Args:
        d: input dimension.
        k: sparsity.
        c0: exponent of the width.
        threshold: first threshold in units of the printed one.

    Reading: the event of Lemma B.2 is no hypothesis of a lemma that speaks of one neuron: neurons that begin
        as sure winners are drawn from the Gaussian start conditioned on it. Decay is a share
        :math:`\lambda d \, T` of a weight, which vanishes with :math:`\sigma_0` as T does, and so does
        :math:`|\ell' - 1/2| \le |f|/4`.

    Ref: purification, Asm 2.1; purification, Thm C.1; purification, Def C.6
    """
    return [
        *of_the_data(d, k),
        at_most("Sec A: k <= d^((1 - c0)/2)", k, d ** ((1 - c0) / 2)),
        at_most("Thm C.1: T_a <= T_b, i.e. k log(d)^2.5 <= d", k * math.log(d) ** 2.5, d),
        is_so("Def C.6: b0 = sqrt(c1 log d) sigma_0, growing linearly", math.isclose(threshold, 1.0)),
        waived(
            "Alg 1: noise rho drawn inside the loss", "'Equivalently, one can use the smoothed ReLU' (Sec 4)"
        ),
        waived(
            "Alg 1: gradient descent on one fixed set",
            "'Our result extends to stochastic gradient descent at the expense of complicating notations' "
            "(Sec 4.1)",
        ),
        not_checkable(
            "Thm C.1: sigma_0 <= 1/poly(d)", "the limit of small sigma_0 is run, in units of sigma_0"
        ),
    ]
