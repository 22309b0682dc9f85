"""Label noise: which labels of a sample are flipped.

Every model flips each label with probability exactly `flip_rate` and leaves the inputs alone, so by the
coupling lemma the noisy law of (x, y) is within total variation `flip_rate` of the clean one.

Reading: the definition asks only for that distance. The models here are its two named settings, independent
and correlated (read as coins shared by blocks of samples), and a third one that spends the same budget on the
points nearest to the other cluster.

Ref: benign, Def 2.1
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from karat.core.checks import require_number


def independent_flips(score: Tensor, flip_rate: float, block: int, generator: torch.Generator) -> Tensor:
    """Each label is flipped by its own coin.

    Args:
        score: (n,) how far each sample is on its own side.
        flip_rate: probability of a flip.
        block: samples per coin, for correlated flips only.
        generator: of the coins.
    """
    return torch.rand(len(score), generator=generator, dtype=torch.float64) < flip_rate


def correlated_flips(score: Tensor, flip_rate: float, block: int, generator: torch.Generator) -> Tensor:
    """Consecutive blocks of samples share one coin: an annotator who gets a whole batch wrong.

    Args:
        score: (n,) how far each sample is on its own side.
        flip_rate: probability of a flip.
        block: samples per coin, for correlated flips only.
        generator: of the coins.
    """
    coins = torch.rand(math.ceil(len(score) / block), generator=generator, dtype=torch.float64) < flip_rate
    return coins.repeat_interleave(block)[: len(score)]


def boundary_flips(score: Tensor, flip_rate: float, block: int, generator: torch.Generator) -> Tensor:
    """The samples of smallest score are flipped, flip_rate * n of them (rounded up or down by a coin).

    The sample is exchangeable, so each label is flipped with probability exactly `flip_rate`; the flips
    depend on the inputs and on each other.

    Args:
        score: (n,) how far each sample is on its own side.
        flip_rate: probability of a flip.
        block: samples per coin, for correlated flips only.
        generator: of the coins.
    """
    expected = flip_rate * len(score)
    count = math.floor(expected)
    count += int(torch.rand((), generator=generator, dtype=torch.float64).item() < expected - count)
    flipped = torch.zeros(len(score), dtype=torch.bool)
    flipped[score.argsort()[:count]] = True
    return flipped


FLIPS: dict[str, Callable[[Tensor, float, int, torch.Generator], Tensor]] = {
    "independent": independent_flips,
    "correlated": correlated_flips,
    "boundary": boundary_flips,
}


def require_flip_rate(value: float, owner: str) -> float:
    """Return `value` if it is a rate in [0, 1/2).

    >>> require_flip_rate(0.5, "NoisyMixture")
    Traceback (most recent call last):
    ...
    ValueError: `flip_rate` of `NoisyMixture` must be a number in [0, 1/2), got 0.5.
    """
    if not 0 <= require_number(value, "flip_rate", owner) < 0.5:
        raise ValueError(f"`flip_rate` of `{owner}` must be a number in [0, 1/2), got {value!r}.")
    return float(value)
