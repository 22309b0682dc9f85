"""The constant of the best line of given slope below a neuron's function on an interval."""

import torch
from torch import Tensor

from karat.certificates.profile import Profile
from karat.certificates.rounding import FUNCTION


def conjugate(profile: Profile, c: Tensor, alpha: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    r"""The constant of the line of slope :math:`\alpha` below a neuron, from below, and where it touches.

    .. math:: h(\alpha) = \min_{s \in [\text{low}, \text{high}]} c\,\psi(s) - \alpha s

    Linear and concave pieces attain their minimum at their ends. On a convex piece [p, q] any tangent serves,

    .. math:: c\,\psi(t) - \alpha t \ge c\,\psi(s) - \alpha s
        + \min_{t \in \{p, q\}} (c\,\psi'(s) - \alpha)(t - s),

    so an inexact stationary point s costs tightness, never soundness. The rounding of psi is charged. All
    tensors have one shape, or broadcast to it.

    Args:
        profile: psi.
        c: output weights.
        alpha: slopes of the lines.
        low: lower ends of the intervals.
        high: upper ends, not below them.

    Returns:
        h and s, shaped like the arguments; line alpha t + h <= c psi(t) on the interval.
    """
    c, alpha, low, high = torch.broadcast_tensors(c, alpha, low, high)
    best, point = c * profile.value(low) - alpha * low, low

    def offer(candidate: Tensor, s: Tensor) -> None:
        nonlocal best, point
        wins = candidate < best
        best, point = torch.where(wins, candidate, best), torch.where(wins, s, point)

    offer(c * profile.value(high) - alpha * high, high)
    for knot in profile.knots:
        s = torch.minimum(low.clamp_min(knot), high)
        offer(c * profile.value(s) - alpha * s, s)
    for left, right, curvature in profile.pieces():
        if curvature == 0:
            continue
        p, q = low.clamp_min(left), high.clamp_max(right)
        convex = (c * curvature > 0) & (p < q)
        if not bool(convex.any()):
            continue
        q = torch.maximum(p, q)
        s = profile.point_of_derivative(alpha / torch.where(convex, c, 1.0), p, q, curvature)
        error = c * profile.derivative(s) - alpha
        value = c * profile.value(s) - alpha * s
        value = value + torch.minimum(error * (p - s), error * (q - s)).clamp_max(0)
        offer(torch.where(convex, value, torch.inf), s)
    return best - function_error(profile, c, low, high), point


def function_error(profile: Profile, c: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Bound on the rounding of c psi(s) and of its tangents anywhere on [low, high].

    Args:
        profile: psi.
        c: output weights.
        low: lower ends of the intervals.
        high: upper ends.
    """
    reach = torch.maximum(low.abs(), high.abs())
    largest = torch.maximum(profile.value(low).abs(), profile.value(high).abs())
    steep = torch.maximum(profile.derivative(low).abs(), profile.derivative(high).abs())
    return FUNCTION * c.abs() * (largest + (2 + steep) * (reach + (high - low)) + 2 * profile.size)
