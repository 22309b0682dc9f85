"""Projected gradient descent on the Gaussian-smoothed net."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from karat.attacks.method import require_generator
from karat.attacks.pgd import PGD
from karat.core.classifier import Classifier
from karat.core.ranges import Count, NonNegative, checked
from karat.core.region import Region


@dataclass(frozen=True)
class Smoothed:
    r"""A classifier whose margin is the mean over fresh Gaussian input noise, drawn anew at every call.

    .. math:: \text{margin}(x, y) = \frac1k \sum_{j \le k} \text{margin}_0(x + \xi_j, y), \qquad
        \xi_j \sim N(0, \sigma^2 I)

    Args:
        classifier: whose margin is averaged.
        sigma: standard deviation of the noise.
        draws: noisy copies per call, the k above.
        generator: draws the noise.
    """

    classifier: Classifier
    sigma: float
    draws: int
    generator: torch.Generator

    def _noisy(self, x: Tensor) -> Tensor:
        noise = torch.randn(x.shape, generator=self.generator, dtype=x.dtype, device=x.device)
        return noise.mul_(self.sigma).add_(x)

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean margin over the draws."""
        margins = [self.classifier.margin(self._noisy(x), y) for _ in range(self.draws)]
        return torch.stack(margins).mean(dim=0)

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Mean margin and mean gradient over the same draws."""
        margin, gradient = self.classifier.margin_and_gradient(self._noisy(x), y)
        for _ in range(self.draws - 1):
            other_margin, other_gradient = self.classifier.margin_and_gradient(self._noisy(x), y)
            margin, gradient = margin + other_margin, gradient + other_gradient
        return margin / self.draws, gradient / self.draws


@dataclass(frozen=True, kw_only=True)
@checked
class SmoothedPGD:
    """PGD whose gradient is the mean over noisy copies of the input.

    Args:
        sigma: standard deviation of the input noise.
        draws: noisy copies per gradient step.
        pgd: the descent itself; four steps of 2 tau / 4, the last point kept.

    Reading: the smoothed margin is the mean margin of the noisy copies (the paper's attacker averages
    probabilities). Margins under fresh noise cannot be compared from step to step, hence keep="last".

    Ref: purification, Sec 8
    """

    sigma: NonNegative
    draws: Count = 2
    pgd: PGD = field(default_factory=lambda: PGD(steps=4, step_ratio=0.5, keep="last"))

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations shaped like x; the noise comes from the generator."""
        generator = require_generator(generator, "SmoothedPGD")
        smoothed = Smoothed(classifier, self.sigma, self.draws, generator)
        return self.pgd(smoothed, x, y, ball, generator=generator)
