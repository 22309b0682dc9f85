"""The single gradient step: how far along the margin's gradient the prediction first flips."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.ray.ray import Ray, ray_in_ball
from karat.attacks.ray.search import past_crossing, search_ray
from karat.core.classifier import Classifier
from karat.core.norms import norm, unit
from karat.core.ranges import Count, checked
from karat.core.region import Region


@dataclass(frozen=True)
class Crossing:
    r"""The smallest step against the gradient that brings the margin to zero, per sample.

    .. math:: \text{margin}(x - \text{step} \cdot \nabla\, \text{margin}(x)) = 0, \qquad
        \text{length} = \text{step} \cdot \|\nabla\, \text{margin}(x)\|_p

    step and length are 0 where the margin is <= 0 already and inf where it stays positive.

    Args:
        step: (n,) multiples of the gradient.
        length: (n,) their l_p lengths.
        gradient_norm: (n,) l_p norms of the gradients.
    """

    step: Tensor
    length: Tensor
    gradient_norm: Tensor


def gradient_crossing(
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    max_length: float | Tensor = torch.inf,
    *,
    p: float = 2.0,
    points: int = 64,
) -> Crossing:
    """The first point on the ray against the gradient where the margin is <= 0.

    Exact up to rounding if the classifier offers the `line` of a piecewise-linear two-layer net; otherwise
    found by a scan of `points` steps (see `search_scan`): never too short, and too long
    only if the margin dips below zero and back between neighbours of the scan.

    Args:
        classifier: whose margin is searched.
        x: (n, ...) samples.
        y: (n,) labels.
        max_length: end of the ray in the l_p norm, a number or (n,).
        p: the norm that measures the step.
        points: resolution of the scan.

    Returns:
        steps, lengths |step * grad|_p and gradient norms |grad|_p.

    Reading: with y the label, a sample that is wrong already has length 0; to flip the *prediction*, as in
    the figures of lazy, pass y = sign f(x). The paper prints grad_w f; the step moves x, so it is grad_x f.

    Ref: lazy, Fig 2
    """
    margin, gradient = classifier.margin_and_gradient(x, y)
    size = norm(gradient, p)
    end = torch.as_tensor(max_length, dtype=torch.float64, device=x.device).expand(len(x))
    end = torch.where(norm(gradient, torch.inf) > 0, end, 0.0)
    ray = Ray(classifier, x, y, unit(-gradient, p))
    length = search_ray(ray, margin, gradient, end, points=points).crossing.to(x.dtype)
    return Crossing(torch.where(length > 0, length / size, 0.0), length, size)


def first_crossing(
    classifier: Classifier, x: Tensor, y: Tensor, max_length: float | Tensor = torch.inf, *, p: float = 2.0
) -> Tensor:
    """Length (n,) of the shortest flipping step against the gradient; inf if none up to max_length.

    Args:
        classifier: whose margin is searched.
        x: (n, ...) samples.
        y: (n,) labels.
        max_length: end of the ray in the l_p norm, a number or (n,).
        p: the norm that measures the step.
    """
    return gradient_crossing(classifier, x, y, max_length, p=p).length


@dataclass(frozen=True, kw_only=True)
@checked
class GradientStep:
    r"""One step along the gradient, just past the first sign change if the ball reaches it.

    .. math:: \delta = -t\, g / \|g\|_p, \qquad g = \nabla\, \text{margin}(x),

    with t the first crossing if that is at most tau, else where the margin is smallest.

    Args:
        points: resolution of the scan for classifiers without an exact `line`.

    Reading: the crossing is moved outwards by the smallest amount that makes the margin of x + delta,
    evaluated in the classifier's own arithmetic, <= 0. The norm measures the step; its direction is g for
    every p.

    Ref: lazy, Thm 3.1
    """

    points: Count = 64

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations shaped like x; no randomness is used."""
        margin, gradient = classifier.margin_and_gradient(x, y)
        ray, end = ray_in_ball(classifier, x, y, -gradient, ball)
        search = search_ray(ray, margin, gradient, end, points=self.points)
        return ray.perturbation(past_crossing(ray, search, margin, end))
