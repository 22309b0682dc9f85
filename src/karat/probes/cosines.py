r"""Cosines between rows of weights: of one row before and after training, and of pairs of rows.

The theory writes :math:`\theta(u, v) = |\langle u, v \rangle| / (\|u\|\,\|v\|)` and calls it an angle; it is
an absolute cosine, 1 for parallel and 0 for orthogonal vectors, and is called a cosine here.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_shape

SMALL, LARGE = 0.2, 0.8
"""Absolute cosines up to which directions count as unrelated, and from which on as the same."""


@dataclass(frozen=True)
class Cosines:
    """Absolute cosines between two sets of rows.

    Args:
        mean: over the rows or pairs.
        small: share that is at most `SMALL`.
        large: share that is at least `LARGE`.
    """

    mean: float
    small: float
    large: float


def abs_cosine(A: Tensor, B: Tensor) -> Tensor:
    r""":math:`\theta(a_i, b_i)` for every row, (m,); 0 where a row is zero.

    >>> abs_cosine(torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 1.0]]))
    tensor([0.7071])

    Ref: purification, Fig 2
    """
    require_shape(B, "B", tuple(A.shape))
    return torch.nn.functional.cosine_similarity(A, B, dim=1).abs()


def cosine_with(vectors: Tensor, direction: Tensor) -> Tensor:
    """(n,) signed cosine of every vector with one direction, or with its own row of a table (n, d)."""
    target = direction.to(vectors).expand_as(vectors)
    return torch.nn.functional.cosine_similarity(vectors, target, dim=1)


def chance_cosine(dim: int) -> float:
    r"""Mean absolute cosine of two unrelated directions, :math:`\sqrt{2 / (\pi \dim)}` in many dimensions.

    >>> round(chance_cosine(363), 3)
    0.042
    """
    return math.sqrt(2 / (math.pi * dim))


def cosines_between(A: Tensor, B: Tensor, live: Tensor) -> Cosines:
    r""":math:`\theta(a_i, b_i)` over the live rows.

    Args:
        A: (m, dim) rows.
        B: (m, dim) rows that they are compared with, one by one.
        live: (m,) booleans, at least one true.

    Ref: purification, Fig 2
    """
    require_shape(live, "live", (len(A),))
    if not bool(live.any()):
        raise ValueError("`cosines_between` needs a live row.")
    theta = abs_cosine(A[live].double(), B[live].double())
    return _described(theta, float(theta.mean()))


def mean_pairwise_cosine(W: Tensor) -> float:
    r"""Mean :math:`\theta(w_i, w_j)` over pairs :math:`i \ne j`; 0 for a single row.

    Ref: purification, Fig 2
    """
    unit = torch.nn.functional.normalize(W, dim=1)
    m = len(W)
    if m < 2:
        return 0.0
    return float(((unit @ unit.T).abs().sum() - m) / (m * (m - 1)))


def pairwise_cosines(W: Tensor, live: Tensor) -> Cosines:
    r""":math:`\theta(w_i, w_j)` over pairs of different live rows; all zero for a single one.

    Ref: purification, Fig 2
    """
    require_shape(live, "live", (len(W),))
    rows = W[live].double()
    if len(rows) < 2:
        return Cosines(0.0, 1.0, 0.0)
    unit = torch.nn.functional.normalize(rows, dim=1)
    first, second = torch.triu_indices(len(rows), len(rows), offset=1)
    return _described((unit @ unit.T).abs()[first, second], mean_pairwise_cosine(rows))


def alignment_with_start(W: Tensor, start: Tensor) -> float:
    r"""How much of the starting directions all neurons together have kept: o(1) after feature learning.

    .. math:: \sum_i \langle w_i, w_{i0} \rangle^2 \Big/ \sum_i \|w_i\|^2 \, \|w_{i0}\|^2

    Ref: purification, Thm 5.1(a)
    """
    products = (W * start).sum(dim=1).square().sum()
    sizes = (W.square().sum(dim=1) * start.square().sum(dim=1)).sum()
    return float(products / sizes)


def weight_coherence(W: Tensor) -> float:
    r"""How parallel the rows are, the diagonal included.

    .. math:: \sum_{ij} \langle w_i, w_j \rangle^2 \Big/ \Big(\sum_i \|w_i\|^2\Big)^2
              = \|W W^\top\|_F^2 / (\operatorname{tr} W W^\top)^2

    At least 1/min(m, d), with equality for orthogonal rows of equal length; 1 if all rows are parallel.

    >>> weight_coherence(torch.eye(4)), weight_coherence(torch.ones(4, 2))
    (0.25, 1.0)

    Ref: purification, Thm 5.1(a)
    """
    gram = W @ W.T if len(W) <= W.shape[1] else W.T @ W
    return float(gram.square().sum() / gram.trace().square())


def _described(theta: Tensor, mean: float) -> Cosines:
    return Cosines(mean, float((theta <= SMALL).double().mean()), float((theta >= LARGE).double().mean()))
