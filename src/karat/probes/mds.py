"""Directions in the plane: classical multidimensional scaling of cosine distances."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_shape


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points whose distances mimic those of directions.

    Args:
        points: (n, dim).
        share: part of the (positive) spectrum that the picture shows, 1 if it is exact.
    """

    points: Tensor
    share: float


def classical_mds(directions: Tensor, dim: int = 2) -> Embedding:
    r"""Coordinates with :math:`\|p_i - p_j\|^2` as close as possible to :math:`2 (1 - \cos(v_i, v_j))`.

    With these distances it is principal component analysis of the unit vectors, hence exact and without
    iterations. A direction of length zero is put at the centre.

    Args:
        directions: (n, d) vectors.
        dim: of the picture.

    >>> picture = classical_mds(torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]]))
    >>> round(picture.share, 6)
    1.0

    Ref: features, Fig 6
    """
    require_shape(directions, "directions", (None, None))
    v = directions.double()
    unit = v / torch.linalg.vector_norm(v, dim=1, keepdim=True).clamp_min(1e-300)
    centred = unit - unit.mean(dim=0)
    U, S, _ = torch.linalg.svd(centred, full_matrices=False)
    count = min(dim, len(S))
    points = torch.zeros(len(v), dim, dtype=torch.float64)
    points[:, :count] = U[:, :count] * S[:count]
    total = float(S.square().sum())
    return Embedding(points, float(S[:count].square().sum()) / total if total > 0 else 1.0)
