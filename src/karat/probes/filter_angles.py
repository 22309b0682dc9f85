"""The angles of Figure 2: how far a layer's filters have turned, with chance and dead filters told apart."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_number, require_shape
from karat.probes.angles import abs_cosine, mean_pairwise_angle

SMALL, LARGE = 0.2, 0.8
"""The paper's examples of a small and of a large angle theta = |cos|."""


def chance_level(dim: int) -> float:
    """Mean |cos| of two unrelated directions in `dim` dimensions, sqrt(2 / (pi dim)) for many.

    >>> round(chance_level(363), 3)
    0.042
    """
    return math.sqrt(2 / (math.pi * dim))


def live_filters(W: Tensor, share: float = 0.05) -> Tensor:
    """(m,) bool: rows longer than `share` of the median row. Weight decay shrinks unused filters to nothing.

    Reading: the direction of a dead filter is noise, and a mean over all filters would count it.
    """
    require_number(share, "share", "live_filters", minimum=0)
    length = torch.linalg.vector_norm(W, dim=1)
    return (length > share * length.median()) & (length > 0)


@dataclass(frozen=True)
class Angles:
    """theta between two sets of filters, over the live ones: mean, shares at most 0.2 and at least 0.8."""

    mean: float
    small: float
    large: float


def angles_between(A: Tensor, B: Tensor, live: Tensor) -> Angles:
    """theta(a_i, b_i) over live rows.

    Args:
        A, B: (m, dim) filters.
        live: (m,) booleans, at least one true.

    Ref: purification, Fig 2
    """
    require_shape(live, "live", (len(A),))
    if not bool(live.any()):
        raise ValueError("`angles_between` needs a live filter.")
    theta = abs_cosine(A[live].double(), B[live].double())
    return Angles(
        float(theta.mean()), float((theta <= SMALL).double().mean()), float((theta >= LARGE).double().mean())
    )


def pairwise_angles(W: Tensor, live: Tensor) -> Angles:
    """theta(w_i, w_j) over pairs of different live rows; all zero for a single one.

    Ref: purification, Fig 2
    """
    require_shape(live, "live", (len(W),))
    rows = W[live].double()
    if len(rows) < 2:
        return Angles(0.0, 1.0, 0.0)
    unit = torch.nn.functional.normalize(rows, dim=1)
    first, second = torch.triu_indices(len(rows), len(rows), offset=1)
    theta = (unit @ unit.T).abs()[first, second]
    return Angles(
        mean_pairwise_angle(rows),
        float((theta <= SMALL).double().mean()),
        float((theta >= LARGE).double().mean()),
    )
