r"""How much weight decay a winner of the lottery survives when the threshold stands at its last value."""

from karat.core.checks import require_number


def surviving_decay(large_rate: float, threshold: float) -> float:
    r"""The largest :math:`\lambda d` at which a neuron woken by large codes alone can stay awake.

    A neuron :math:`\alpha M_j` of one feature that only codes :math:`|z_j| = 1` wake grows, in rescaled time,
    by at most :math:`\tfrac12 d P(|z_j| = 1)`, since the derivative of the loss near :math:`\log 2` is one
    half, and decays by :math:`\lambda d (1 + \alpha) \alpha`. It must stay above the threshold,
    :math:`\alpha \ge b`:

    .. math:: \lambda d \le \frac{d P(|z_j| = 1)}{2 b (1 + b)}

    Args:
        large_rate: :math:`d P(|z_j| = 1)`, the expected number of codes of size one.
        threshold: b, in the end :math:`k^{-0.5001}` in Algorithm 1.

    Reading: ours. An upper bound: labels do not always follow the code, and the loss falls. The paper lets k
        grow with d, so that b falls and any :math:`\lambda d = \log\log\log d` is small in the end.

    >>> surviving_decay(0.2, 1.0)
    0.05

    Ref: purification, Alg 1; purification, Sec 4
    """
    require_number(large_rate, "large_rate", "surviving_decay", minimum=0)
    require_number(threshold, "threshold", "surviving_decay", positive=True)
    return large_rate / (2 * threshold * (1 + threshold))
