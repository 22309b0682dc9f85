r"""How far the filters of every layer turned, and how they stand to each other.

The angle of two filters is read as the paper does, large where they are parallel:

.. math:: \theta(u, v) = \frac{|\langle u, v \rangle|}{\|u\| \, \|v\|}.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from karat.probes.cosines import Cosines, chance_cosine, cosines_between, pairwise_cosines
from karat.probes.live_rows import live_filters


@dataclass(frozen=True, kw_only=True)
class LayerAngles:
    r"""Means over the live filters of each layer, and shares with :math:`\theta \le 0.2` and :math:`\ge 0.8`.

    Symbols: :math:`w_0` at the start, :math:`w` after clean and :math:`w'` after adversarial training. Every
    list has one number per layer.

    Args:
        chance: mean of two unrelated directions in this dimension.
        live: how many filters of the clean net are not dead.
        filters: how many there are.
        start_clean: mean of :math:`\theta(w_0, w)`.
        start_clean_small: share of it at most 0.2.
        start_clean_large: share of it at least 0.8.
        start_robust: mean of :math:`\theta(w_0, w')`.
        start_robust_small: share of it at most 0.2.
        start_robust_large: share of it at least 0.8.
        clean_robust: mean of :math:`\theta(w, w')`.
        clean_robust_small: share of it at most 0.2.
        clean_robust_large: share of it at least 0.8.
        pairs: mean of :math:`\theta(w_i, w_j)` over pairs of different filters.
        pairs_small: share of it at most 0.2.

    Ref: purification, Fig 2
    """

    chance: list[float]
    live: list[int]
    filters: list[int]
    start_clean: list[float]
    start_clean_small: list[float]
    start_clean_large: list[float]
    start_robust: list[float]
    start_robust_small: list[float]
    start_robust_large: list[float]
    clean_robust: list[float]
    clean_robust_small: list[float]
    clean_robust_large: list[float]
    pairs: list[float]
    pairs_small: list[float]


class AngleLists(NamedTuple):
    """`Angles` of several layers.

    Args:
        mean: over the live filters of each layer.
        small: share of them at most 0.2.
        large: share of them at least 0.8.
    """

    mean: list[float]
    small: list[float]
    large: list[float]


def layer_angles(start: Sequence[Tensor], clean: Sequence[Tensor], robust: Sequence[Tensor]) -> LayerAngles:
    """Compare the filters of a net at its start, after clean and after adversarial training.

    Args:
        start: one (m, dim) tensor of filters per layer.
        clean: the same layers after clean training; its dead filters are left out everywhere.
        robust: the same layers after adversarial training.
    """
    first, last, turn = (
        turned(before, after, clean) for before, after in ((start, clean), (start, robust), (clean, robust))
    )
    between = clean_pairs(clean)
    return LayerAngles(
        chance=[chance_cosine(W.shape[1]) for W in clean],
        live=[int(live_filters(W).sum()) for W in clean],
        filters=[len(W) for W in clean],
        start_clean=first.mean,
        start_clean_small=first.small,
        start_clean_large=first.large,
        start_robust=last.mean,
        start_robust_small=last.small,
        start_robust_large=last.large,
        clean_robust=turn.mean,
        clean_robust_small=turn.small,
        clean_robust_large=turn.large,
        pairs=between.mean,
        pairs_small=between.small,
    )


def turned(before: Sequence[Tensor], after: Sequence[Tensor], clean: Sequence[Tensor]) -> AngleLists:
    """Return how far each layer turned, over the filters that are live in the clean net.

    Args:
        before: filters per layer.
        after: the same filters later.
        clean: the same filters of the clean net.
    """
    return _listed(
        [cosines_between(A, B, live_filters(W)) for A, B, W in zip(before, after, clean, strict=True)]
    )


def clean_pairs(clean: Sequence[Tensor]) -> AngleLists:
    """Return the angles between different live filters of each layer."""
    return _listed([pairwise_cosines(W, live_filters(W)) for W in clean])


def _listed(layers: Sequence[Cosines]) -> AngleLists:
    return AngleLists(
        [angles.mean for angles in layers],
        [angles.small for angles in layers],
        [angles.large for angles in layers],
    )
