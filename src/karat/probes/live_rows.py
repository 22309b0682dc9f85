"""Which rows of a weight matrix carry a feature: two rules, for two ways in which rows can be dead.

In the lottery of the theory a few neurons grow and most stay near their start, so a row is measured against
the longest one. In an image net weight decay shrinks a few unused filters and most are alive, so a row is
measured against the median one. Means over all rows would be means over directions that are noise.
"""

import torch
from torch import Tensor

from karat.core.checks import require_number


def grown_neurons(W: Tensor, share: float = 0.1) -> Tensor:
    """(m,) bool: rows longer than `share` of the longest one; the others have stayed near their start.

    Reading: a finite-size notion of ours; the theory's winners are defined as d grows.

    >>> grown_neurons(torch.tensor([[2.0], [0.5], [0.1]])).tolist()
    [True, True, False]
    """
    require_number(share, "share", "grown_neurons", minimum=0, maximum=1)
    length = torch.linalg.vector_norm(W, dim=1)
    return length > share * length.max()


def live_filters(W: Tensor, share: float = 0.05) -> Tensor:
    """(m,) bool: rows longer than `share` of the median row; weight decay shrinks unused filters to nothing.

    >>> live_filters(torch.tensor([[2.0], [1.0], [0.01]])).tolist()
    [True, True, False]
    """
    require_number(share, "share", "live_filters", minimum=0)
    length = torch.linalg.vector_norm(W, dim=1)
    return length > share * length.median()
