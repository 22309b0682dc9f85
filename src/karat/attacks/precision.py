"""Perturbations as a number format can hold them: searched in float32 at least, then put into the ball."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.budget import check_budget, is_half
from karat.attacks.method import Method, method_name
from karat.core.classifier import Classifier
from karat.core.norms import norm, per_sample
from karat.core.region import Region

# Rounds of shrinking after which coordinates are rounded towards x instead.
_ROUNDS = 8
# Slightly more than needed each time, for the rounded length does not follow the factor exactly.
_SHRINK = 0.999


@dataclass(frozen=True, eq=False)
class FromSingle:
    """A classifier in half precision for attacks whose own numbers are float32: inputs are rounded first."""

    classifier: Classifier
    dtype: torch.dtype

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Margins at the rounded inputs."""
        return self.classifier.margin(x.to(self.dtype), y).float()

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Margins and gradients at the rounded inputs."""
        margin, gradient = self.classifier.margin_and_gradient(x.to(self.dtype), y)
        return margin.float(), gradient.float()


def perturbations(
    method: Method,
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Region,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """What a method returns; in half precision it searches in float32, and the result is fitted to x's type.

    Args:
        method: the attack.
        classifier: what it attacks.
        x: (n, ...) inputs.
        y: (n,) labels.
        ball: the allowed perturbations.
        generator: needed by attacks that draw random numbers.

    Raises:
        BudgetError: if the method leaves its ball, before anything is fitted.
    """
    if not is_half(x.dtype):
        return method(classifier, x, y, ball, generator=generator)
    delta = method(FromSingle(classifier, x.dtype), x.float(), y, ball, generator=generator)
    check_budget(x.float(), delta, ball, method_name(method))
    return fitted(delta, x, ball)


def trimmed(delta: Tensor, excess: Tensor, ball: Region) -> Tensor:
    """Perturbations with |delta|_p <= tau as float64 sums it: what rounding had added is taken off.

    For real numbers the norm may then exceed tau by the rounding of that sum, some 1e-16 of it.

    A perturbation within its radius stays as it is; one beyond it by rounding loses 2 units in the last place
    more than its excess, for every coordinate is rounded once again.

    Args:
        delta: (n, ...) inside the ball up to rounding.
        excess: (n,) |delta|_p - tau in float64.
        ball: the allowed perturbations.
    """
    over = excess > 0
    if not bool(over.any()):
        return delta
    radius = ball.radius(excess)
    if ball.p == math.inf:
        bound = per_sample(_towards_zero(radius, delta.dtype), delta)
        return delta.clamp(-bound, bound)
    share = radius / (radius + excess) * (1 - 2 * torch.finfo(delta.dtype).eps)
    return delta * per_sample(torch.where(over, share, 1.0).to(delta.dtype), delta)


def fitted(delta: Tensor, x: Tensor, ball: Region) -> Tensor:
    """Perturbations in x's half precision with |delta|_p <= tau, also as the model sees them.

    There x + delta is rounded by more than delta's own digits: delta shrinks until (x + delta) - x fits. What
    does not fit after some rounds, and everything in an l_inf ball, is rounded towards x.

    Args:
        delta: (n, ...) in float32, inside the ball up to rounding.
        x: (n, ...) inputs.
        ball: the allowed perturbations.
    """
    inputs, wide = x.double(), delta.double()
    radius, p = ball.radius(wide), ball.p
    length = norm(wide, p)
    wide = wide * per_sample(torch.where(length > radius, radius / length, 1.0), wide)
    bound = wide.abs()
    for _ in range(_ROUNDS):
        moved = (inputs + wide).to(x.dtype)
        length = norm(moved.double() - inputs, p)
        over = length > radius
        if p == math.inf or not bool(over.any()):
            break
        wide = wide * per_sample(torch.where(over, _SHRINK * radius / length, 1.0), wide)
    too_far = per_sample(over, x) & ((moved.double() - inputs).abs() > bound)
    if ball.box is not None:
        too_far |= (moved.double() < ball.box[0]) | (moved.double() > ball.box[1])
    moved = torch.where(too_far, torch.nextafter(moved, x), moved)
    # x + delta lies between x and what was reached, and rounding keeps that order.
    return _towards_zero(moved.double() - inputs, x.dtype)


def _towards_zero(wide: Tensor, dtype: torch.dtype) -> Tensor:
    """The nearest number of a type that is no larger in size than the given one."""
    near = wide.to(dtype)
    larger = near.double().abs() > wide.abs()
    return torch.where(larger, torch.nextafter(near, torch.zeros_like(near)), near)
