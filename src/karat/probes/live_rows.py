"""Which rows of a weight matrix carry a feature: two rules, for two ways in which rows can be dead.

In the lottery of the theory a few neurons grow and most stay near their start, so a row is measured against
the threshold that it has to reach. The longest row would be no measure: a hub is many times longer than any
winner, and who is live must not depend on it. In an image net weight decay shrinks a few unused filters and
most are alive, so a row is measured against the median one. Means over all
rows would be means over directions that are noise.
"""

import torch
from torch import Tensor

from karat.core.checks import require_number


def grown_neurons(W: Tensor, threshold: float) -> Tensor:
    r"""(m,) bool: rows longer than the threshold b; all others sleep on every input of length one.

    Args:
        W: (m, d) weights.
        threshold: b.

    Reading: a finite-size notion of ours; the theory's winners are defined as d grows. Small random rows of
        length :math:`\sigma_0 \sqrt d` are longer than the first threshold
        :math:`\sigma_0 \sqrt{2 \log d}`: only training tells winners from losers.

    >>> grown_neurons(torch.tensor([[60.0], [0.5], [0.05]]), threshold=0.1).tolist()
    [True, True, False]
    """
    require_number(threshold, "threshold", "grown_neurons", minimum=0)
    return torch.linalg.vector_norm(W, dim=1) > threshold


def live_filters(W: Tensor, share: float = 0.05) -> Tensor:
    """(m,) bool: rows longer than `share` of the median row; weight decay shrinks unused filters to nothing.

    >>> live_filters(torch.tensor([[2.0], [1.0], [0.01]])).tolist()
    [True, True, False]
    """
    require_number(share, "share", "live_filters", minimum=0)
    length = torch.linalg.vector_norm(W, dim=1)
    return length > share * length.median()
