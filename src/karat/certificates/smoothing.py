"""Randomised smoothing: a certificate with high probability, for the majority vote under noise, not for f."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from scipy import special
from torch import Tensor

from karat.core.checks import require_integer, require_number
from karat.core.statistics import clopper_pearson

_BATCH = 2**22  # numbers in one batch of noisy inputs


@dataclass(frozen=True, eq=False)
class SmoothedCertificate:
    """What is known of the majority vote under Gaussian noise, per sample.

    Args:
        prediction: (n,) predicted label or class; meaningless where `abstained`.
        radius: (n,) certified l2 radius, 0 where abstained.
        abstained: (n,) booleans: the vote was too close to call.
        votes: (n,) lower confidence limit of the winning share.
        p_fail: probability, per sample, that its radius is wrong.
    """

    prediction: Tensor
    radius: Tensor
    abstained: Tensor
    votes: Tensor
    p_fail: float


def smoothed_certificate(
    model: Callable[[Tensor], Tensor] | Any,
    x: Tensor,
    *,
    sigma: float,
    generator: torch.Generator,
    draws: int = 10_000,
    selection: int = 100,
    p_fail: float = 0.001,
) -> SmoothedCertificate:
    r"""Certify :math:`\arg\max_k P(f(x + \sigma \xi) \text{ predicts } k)` by counting votes.

    The radius is :math:`\sigma\, \Phi^{-1}(p)`, p the Clopper-Pearson lower limit of the winner's share at
    level 1 - p_fail.

    The winner is chosen from `selection` draws of its own, so the limit is not biased by the choice; p <= 1/2
    abstains.

    Args:
        model: returns (n,) or (n, 1) for labels +-1, or logits (n, classes).
        x: (n, ...) samples.
        sigma: standard deviation of the noise.
        generator: draws the noise.
        draws: noisy copies that vote.
        selection: noisy copies that choose the winner.
        p_fail: probability, per sample, that its radius is wrong.

    Reading: this is another classifier than f, and the statement fails with probability p_fail per sample;
        never put it into the bracket of f. An output of exactly 0 votes for no label.
    """
    require_number(sigma, "sigma", "smoothed_certificate", positive=True)
    require_integer(draws, "draws", "smoothed_certificate", minimum=1)
    require_integer(selection, "selection", "smoothed_certificate", minimum=1)
    if not 0 < require_number(p_fail, "p_fail", "smoothed_certificate") < 0.5:
        raise ValueError(
            f"`p_fail` of `smoothed_certificate` must be strictly between 0 and 1/2, got {p_fail}."
        )
    predictions, radii, limits = [], [], []
    for sample in x:
        first = _votes(model, sample, sigma, selection, generator)
        winner = max(first, key=lambda label: (first[label], label))
        count = _votes(model, sample, sigma, draws, generator).get(winner, 0)
        limit = clopper_pearson(count, draws, level=1 - 2 * p_fail).low
        predictions.append(winner)
        limits.append(limit)
        radii.append(sigma * float(special.ndtri(limit)) if limit > 0.5 else 0.0)
    radius = torch.tensor(radii, dtype=torch.float64)
    votes = torch.tensor(limits, dtype=torch.float64)
    return SmoothedCertificate(torch.tensor(predictions), radius, votes <= 0.5, votes, p_fail)


def _votes(
    model: Any, sample: Tensor, sigma: float, draws: int, generator: torch.Generator
) -> dict[int, int]:
    """How many noisy copies vote for each label."""
    counts: dict[int, int] = {}
    step = max(1, _BATCH // max(1, sample.numel()))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        noise = torch.randn((size, *sample.shape), generator=generator, dtype=sample.dtype)
        with torch.no_grad():
            output = model(sample + sigma * noise)
        if output.shape in ((size,), (size, 1)):
            labels = output.reshape(size).sign().long()
            labels = labels[labels != 0]
        else:
            labels = output.argmax(dim=1)
        for label, count in zip(*(part.tolist() for part in labels.unique(return_counts=True)), strict=True):
            counts[label] = counts.get(label, 0) + count
    return counts or {0: 0}
