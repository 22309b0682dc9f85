"""How the neurons' directions relate to known ones: best cosine, coverage, tightness of clusters."""

import torch
from torch import Tensor

from karat.core.checks import require_integer


def cosine_table(W: Tensor, directions: Tensor) -> Tensor:
    r""":math:`\cos(w_i, v_j)` for all pairs, (m, k) in float64; zero where a vector is zero."""
    return unit_rows(W) @ unit_rows(directions).T


def unit_rows(v: Tensor) -> Tensor:
    """The rows divided by their lengths, in float64; a zero row stays zero."""
    v = v.double()
    return v / torch.linalg.vector_norm(v, dim=1, keepdim=True).clamp_min(1e-300)


def covered(W: Tensor, directions: Tensor, cosine: float = 0.9) -> tuple[int, float]:
    """How many directions have a neuron within a cosine, and the best cosine of the worst direction.

    Args:
        W: (m, d) weights.
        directions: (k, d) to be found among them.
        cosine: from which on a neuron covers a direction.

    >>> covered(torch.eye(3), torch.eye(3)[:2])
    (2, 1.0)

    Ref: features, Sec E.3.2
    """
    best = cosine_table(W, directions).amax(dim=0)
    return int((best > cosine).sum()), float(best.min())


def spherical_means(
    directions: Tensor, count: int, *, generator: torch.Generator, rounds: int = 50, starts: int = 5
) -> tuple[Tensor, Tensor]:
    """Unit centres (count, d) and memberships (n,) that maximise the mean cosine to one's own centre.

    Args:
        directions: (n, d).
        count: clusters.
        generator: of the starts.
        rounds: of Lloyd's alternation.
        starts: random starts, of which the best end is returned.
    """
    require_integer(count, "count", "spherical_means", minimum=1)
    unit = unit_rows(directions)
    best_score, best = -2.0, (unit[:count], torch.zeros(len(unit), dtype=torch.long))
    for _ in range(starts):
        centres = unit[torch.randperm(len(unit), generator=generator)[:count]]
        member = torch.zeros(len(unit), dtype=torch.long)
        for _ in range(rounds):
            member = (unit @ centres.T).argmax(dim=1)
            sums = torch.zeros_like(centres).index_add_(0, member, unit)
            length = torch.linalg.vector_norm(sums, dim=1, keepdim=True)
            # An empty cluster keeps its centre.
            moved = torch.where(length > 0, sums / length.clamp_min(1e-300), centres)
            if torch.allclose(moved, centres):
                break
            centres = moved
        score = float((unit * centres[member]).sum(dim=1).mean())
        if score > best_score:
            best_score, best = score, (centres, member)
    return best


def cluster_cosines(
    directions: Tensor, count: int, *, generator: torch.Generator
) -> tuple[list[float], list[float]]:
    """Mean cosine to one's own centre per cluster, and the cosines between centres (pairs in order).

    Args:
        directions: (n, d).
        count: clusters.
        generator: of the random starts.

    Ref: features, Fig 20
    """
    centres, member = spherical_means(directions, count, generator=generator)
    cosine = (unit_rows(directions) * centres[member]).sum(dim=1)
    inside = [float(cosine[member == c].mean()) if bool((member == c).any()) else 0.0 for c in range(count)]
    pairs = torch.triu_indices(count, count, 1)
    between = (centres @ centres.T)[pairs[0], pairs[1]].tolist()
    return inside, between


def cluster_count(
    directions: Tensor, counts: tuple[int, ...] = (2, 3, 4, 5, 6), *, generator: torch.Generator
) -> int:
    """The number of clusters of largest mean silhouette, distances 1 - cosine to the nearest two centres.

    Args:
        directions: (n, d).
        counts: numbers of clusters that are tried.
        generator: of the random starts.

    Ref: features, Fig 19
    """
    unit = unit_rows(directions)
    scores = []
    for count in counts:
        centres, _ = spherical_means(directions, count, generator=generator)
        nearest = (1 - unit @ centres.T).clamp_min(0).sort(dim=1).values
        scores.append(float((1 - nearest[:, 0] / nearest[:, 1].clamp_min(1e-12)).mean()))
    return counts[scores.index(max(scores))]
