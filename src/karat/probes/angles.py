"""Angles between weights before and after training, per neuron and weighted by their size."""

import torch
from torch import Tensor

from karat.core.checks import require_number, require_shape


def abs_cosine(A: Tensor, B: Tensor) -> Tensor:
    """theta(a_i, b_i) = |<a_i, b_i>| / (|a_i| |b_i|) for every row, (m,); 0 where a row is zero.

    >>> abs_cosine(torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 1.0]]))
    tensor([0.7071])

    Ref: purification, Fig 2
    """
    require_shape(B, "B", tuple(A.shape))
    return torch.nn.functional.cosine_similarity(A, B, dim=1).abs()


def live_neurons(W: Tensor, share: float = 0.1) -> Tensor:
    """(m,) bool: rows longer than `share` of the longest. The others have stayed near their start.

    Reading: finite-size notion of ours; plain means over all neurons would be means over the dead ones.
    """
    require_number(share, "share", "live_neurons", minimum=0, maximum=1)
    length = torch.linalg.vector_norm(W, dim=1)
    return length > share * length.max()


def alignment_with_start(W: Tensor, start: Tensor) -> float:
    """sum_i <w_i, w_i0>^2 / sum_i |w_i|^2 |w_i0|^2 over all neurons: o(1) after feature learning.

    Ref: purification, Thm 5.1(a)
    """
    products = (W * start).sum(dim=1).square().sum()
    sizes = (W.square().sum(dim=1) * start.square().sum(dim=1)).sum()
    return float(products / sizes)


def weight_coherence(W: Tensor) -> float:
    """sum_ij <w_i, w_j>^2 / (sum_i |w_i|^2)^2 = |W W^T|_F^2 / (tr W W^T)^2, diagonal included.

    At least 1/min(m, d), with equality for orthogonal rows of equal length; 1 if all rows are parallel.

    >>> weight_coherence(torch.eye(4)), weight_coherence(torch.ones(4, 2))
    (0.25, 1.0)

    Ref: purification, Thm 5.1(a)
    """
    gram = W @ W.T if len(W) <= W.shape[1] else W.T @ W
    return float(gram.square().sum() / gram.trace().square())


def mean_pairwise_angle(W: Tensor) -> float:
    """Mean theta(w_i, w_j) over pairs i != j.

    Ref: purification, Fig 2
    """
    unit = torch.nn.functional.normalize(W, dim=1)
    m = len(W)
    if m < 2:
        return 0.0
    return float(((unit @ unit.T).abs().sum() - m) / (m * (m - 1)))


def movement(W: Tensor, start: Tensor) -> float:
    """sum_i |w_i - w_i0|^2 / sum_i |w_i0|^2: how far training has moved the weights.

    Ref: purification, Thm 5.3(c)
    """
    return float((W - start).square().sum() / start.square().sum())


def movement_along(W: Tensor, start: Tensor, v: Tensor) -> float:
    """The part of `movement` along one direction v (d,)."""
    unit = v.to(W) / torch.linalg.vector_norm(v.to(W))
    return float(((W - start) @ unit).square().sum() / start.square().sum())
