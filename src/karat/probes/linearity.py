"""How far a net is from linear inside the ball: what makes the fast gradient method optimal, or not."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.core.classifier import Classifier


@dataclass(frozen=True, eq=False)
class Deviation:
    r"""The gap between a margin and its linearisation at x, as a classifier whose labels choose its sign.

    .. math:: \text{gap}(x + \delta) = \text{margin}(x + \delta) - \text{margin}(x)
              - \langle \nabla \text{margin}(x), \delta \rangle

    Args:
        classifier: whose margin it is.
        x: (n, d) points of the linearisation.
        y: (n,) their labels.
        value: (n,) margins there.
        gradient: (n, d) gradients of the margins there.
    """

    classifier: Classifier
    x: Tensor
    y: Tensor
    value: Tensor
    gradient: Tensor

    @classmethod
    def at(cls, classifier: Classifier, x: Tensor, y: Tensor) -> "Deviation":
        """The gap around given points.

        Args:
            classifier: whose margin it is.
            x: (n, d) points.
            y: (n,) their labels.
        """
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
    r"""(n,) the largest deviation from linearity found in the ball: a lower bound on the supremum.

    .. math:: |f(x + \delta) - f(x) - \langle \nabla f(x), \delta \rangle|

    Args:
        classifier: whose margin is f, up to the sign.
        x: (n, d) points.
        y: (n,) their labels.
        ball: the perturbations allowed.
        starts: perturbations to begin from besides a random one; at x itself the gradient vanishes.
        steps: of each ascent.
        generator: of the random start.

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
