"""Rays out of samples: margins along them, how far the ball lets them go, and what a search finds."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.classifier import Classifier
from karat.core.line import HasLine, Line
from karat.core.norms import norm, per_sample, unit
from karat.core.region import Region


@dataclass(frozen=True)
class RaySearch:
    """Where on [0, end] the margin first is <= 0 (inf if nowhere) and where it is smallest, each (n,)."""

    crossing: Tensor
    lowest: Tensor


@dataclass(frozen=True, eq=False)
class Ray:
    r"""The points :math:`x + t v`, :math:`t \ge 0`, one ray per sample.

    Args:
        classifier: whose margin is searched.
        x: (n, ...) samples.
        y: (n,) labels.
        direction: (n, ...) the directions v.
    """

    classifier: Classifier
    x: Tensor
    y: Tensor
    direction: Tensor

    def perturbation(self, t: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """t direction for the samples `rows`, in the dtype of x."""
        return self.direction[rows] * per_sample(t.to(self.x.dtype), self.x)

    def margin(self, t: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """Margins at positions t of the samples `rows`, in the classifier's own arithmetic, as float64."""
        return self.classifier.margin(self.x[rows] + self.perturbation(t, rows), self.y[rows]).double()

    def line(self, rows: Tensor | slice = slice(None)) -> Line | None:
        """The classifier's own account of its hidden layer along the rays, if it has one."""
        if not isinstance(self.classifier, HasLine) or len(self.x) == 0:
            return None
        return self.classifier.line(self.x[rows], self.direction[rows], self.y[rows])


def ray_in_ball(
    classifier: Classifier, x: Tensor, y: Tensor, push: Tensor, ball: Region
) -> tuple[Ray, Tensor]:
    """The rays along `push`, in steps of l_p length 1, and the (n,) lengths at which they leave the ball.

    Reading: in a box, coordinates at a wall and pushed against it stay; the ray ends at the next wall.

    Args:
        classifier: whose margin is searched.
        x: (n, ...) samples.
        y: (n,) labels.
        push: (n, ...) where to go, of any length.
        ball: the allowed perturbations.
    """
    if ball.box is not None:
        low, high = ball.box
        push = push.masked_fill(((x <= low) & (push < 0)) | ((x >= high) & (push > 0)), 0.0)
    direction = unit(push, ball.p)
    end = torch.where(norm(direction, torch.inf) > 0, ball.radius(x), 0.0)
    if ball.box is not None:
        room = torch.where(direction > 0, high - x, x - low)
        reach = torch.where(direction != 0, room / direction.abs(), torch.inf)
        end = torch.minimum(end, reach.flatten(1).amin(dim=1))
    return Ray(classifier, x, y, direction), end.double()
