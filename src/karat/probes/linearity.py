"""How far a net is from linear inside the ball: what makes the fast gradient method optimal, or not."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.core.classifier import Classifier


@dataclass(frozen=True, eq=False)
class Deviation:
    """The gap between a margin and its linearisation at x, as a classifier whose labels choose its sign.

    gap(x + delta) = margin(x + delta) - margin(x) - <grad margin(x), delta>
    """

    classifier: Classifier
    x: Tensor
    y: Tensor
    value: Tensor
    gradient: Tensor

    @classmethod
    def at(cls, classifier: Classifier, x: Tensor, y: Tensor) -> "Deviation":
        """The gap around the points x."""
        value, gradient = classifier.margin_and_gradient(x, y)
        return cls(classifier, x, y, value, gradient)

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """y times the gap at points x, row by row around `self.x`."""
        gap = self.classifier.margin(x, self.y) - self.value - (self.gradient * (x - self.x)).sum(dim=1)
        return y * gap

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """y times the gap and its gradient."""
        value, gradient = self.classifier.margin_and_gradient(x, self.y)
        gap = value - self.value - (self.gradient * (x - self.x)).sum(dim=1)
        return y * gap, y.unsqueeze(1) * (gradient - self.gradient)


def linearity_gap(
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    *,
    starts: tuple[Tensor, ...] = (),
    steps: int = 20,
    generator: torch.Generator,
) -> Tensor:
    """(n,) largest |f(x + delta) - f(x) - <grad f(x), delta>| found in the ball: a lower bound on the sup.

    Args:
        starts: perturbations to begin from besides a random one; at x itself the gradient vanishes.

    Ref: purification, Eq F.17
    """
    gap = Deviation.at(classifier, x, y)
    best = torch.zeros(len(x), dtype=x.dtype)
    ones = torch.ones(len(x), dtype=x.dtype)
    begins = (*starts, ball.sample(x, generator=generator))
    for start in begins:
        for sign in (ones, -ones):
            search = PGD(steps=steps, start=lambda *args, start=start, **knobs: start)
            delta = search(gap, x, sign, ball, generator=generator)
            best = torch.maximum(best, gap.margin(x + delta, ones).abs())
    return best
