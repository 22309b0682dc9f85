r"""When a neuron that leans on all features alike outgrows the threshold: the start of a hub.

A row :math:`w = \gamma M w^*` sees of an input only its score :math:`u = \langle M w^*, x \rangle`, about
:math:`\langle w^*, z \rangle`. Its ratio is :math:`s = \gamma \sqrt V / b`, with
:math:`V = E \langle w^*, z \rangle^2`: it wakes where :math:`|u| > \sqrt V / s`. While the loss is near
:math:`\log 2`, its derivative is one half and in rescaled time

.. math:: \dot\gamma = \tfrac12 E\big[ y u \, 1[|u| > \sqrt V / s] \big], \qquad
    \frac{d \log s}{dt} = \frac1b \Big( \underbrace{\frac{\sqrt V}{2 s}
    E\big[ y u \, 1[|u| > \sqrt V / s] \big]}_{\text{its pace}} - \dot b \Big).

The threshold b itself drops out: a row whose pace exceeds the speed :math:`\dot b` at which the threshold
grows gets ahead of it and wakes more and more, a slower one is left behind asleep.

Reading: ours, not the paper's, whose theorem leaves no room for such neurons. Decay is left out: beside the
    speed of the threshold it is :math:`\lambda d b`, smaller by a factor of hundreds.
"""

import numpy as np
from numpy.typing import NDArray

from karat.core.checks import require_number


def pace(ratio: float, scores: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    r"""How fast a row along :math:`M w^*` grows, in the units in which the threshold does.

    Args:
        ratio: s, its size over the threshold.
        scores: (n,) :math:`u = \langle M w^*, x \rangle` of inputs, in units of :math:`\sqrt V`.
        gains: (n,) :math:`y u` of the same inputs, as they are.

    >>> everywhere = np.ones(4)
    >>> pace(0.9, everywhere, everywhere), pace(2.0, everywhere, everywhere)
    (0.0, 0.25)

    Ref: purification, Alg 1; purification, Fact A.1
    """
    require_number(ratio, "ratio", "pace", positive=True)
    awake = np.abs(scores) > 1 / ratio
    return float((gains * awake).mean()) / (2 * ratio)


def self_waking_ratio(
    scores: NDArray[np.float64], gains: NDArray[np.float64], speed: float, *, root_variance: float
) -> float:
    r"""The smallest ratio from which on a row along :math:`M w^*` outgrows the threshold.

    .. math:: s^* = \inf \Big\{ s : \frac{\sqrt V}{2 s} E\big[ y u \, 1[|u| > \sqrt V / s] \big]
        \ge \dot b \Big\}

    Args:
        scores: (n,) :math:`u = \langle M w^*, x \rangle` of inputs.
        gains: (n,) :math:`y u` of the same inputs.
        speed: :math:`\dot b`, growth of the threshold per unit of rescaled time.
        root_variance: :math:`\sqrt V`.

    Returns:
        The ratio, infinite if no row ever outgrows the threshold.
    """
    require_number(speed, "speed", "self_waking_ratio", positive=True)
    require_number(root_variance, "root_variance", "self_waking_ratio", positive=True)
    grid = np.geomspace(0.05, 20, 400)
    # From the largest score down: the sum over the awake inputs is a cumulative one.
    order = np.argsort(-np.abs(scores))
    sums = np.concatenate([[0.0], np.cumsum(gains[order])])
    awake = np.searchsorted(-np.abs(scores)[order], -root_variance / grid, side="left")
    paces = sums[awake] / len(scores) * root_variance / (2 * grid)
    fast = np.flatnonzero(paces >= speed)
    return float(grid[fast[0]]) if len(fast) else float("inf")
