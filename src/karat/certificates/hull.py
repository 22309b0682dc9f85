"""Convex hulls of a neuron's function from points on its graph: first slopes and the ascent's prox."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.certificates.profile import Profile

_GRID = 8  # even, so that the centre of an interval is not a vertex
_NEAR = (-0.06, -0.02, -6e-3, -2e-3, -3e-4, -3e-5, 0.0, 3e-5, 3e-4, 2e-3, 6e-3, 0.02, 0.06)


@dataclass(frozen=True, eq=False)
class Hull:
    """Points on the graph of g = c psi over [low, high] and the slopes of their lower convex hull.

    Args:
        points: (..., P) increasing abscissae, first low and last high.
        values: (..., P) of g there.
        slopes: (..., P-1) nondecreasing slopes of the hull between neighbours.

    Exact for piecewise-linear psi, otherwise a guide for the ascent only: bounds come from `conjugate`.
    """

    points: Tensor
    values: Tensor
    slopes: Tensor

    def rows(self, index: Tensor) -> "Hull":
        """The hulls of some domains."""
        return Hull(self.points[index], self.values[index], self.slopes[index])

    def prox(self, v: Tensor, step: Tensor) -> Tensor:
        r"""The maximiser of :math:`h(\alpha) - (\alpha - v)^2 / (2\,\text{step})`, h the hull's conjugate.

        It solves :math:`\alpha + \text{step}\; s(\alpha) = v` with :math:`s(\alpha)` the minimiser of
        :math:`g(s) - \alpha s`, which is monotone.
        """
        at_points = v.unsqueeze(-1) - step.unsqueeze(-1) * self.points
        alpha = at_points[..., -1]
        # Point k is the minimiser for all slopes between those of its two neighbours: v - step s is clipped
        # to these, from the last point down.
        for k in range(self.slopes.shape[-1] - 1, -1, -1):
            alpha = torch.minimum(at_points[..., k], torch.maximum(self.slopes[..., k], alpha))
        return alpha

    def conjugate(self, alpha: Tensor) -> Tensor:
        """min over the points of g(s) - alpha s."""
        return (self.values - alpha.unsqueeze(-1) * self.points).amin(dim=-1)

    def slope_at(self, s: Tensor) -> Tensor:
        """Slope of the hull at s; between two slopes at a vertex, the left one."""
        segment = (self.points[..., 1:-1] < s.unsqueeze(-1)).sum(dim=-1, keepdim=True)
        return self.slopes.gather(-1, segment).squeeze(-1)

    def envelope(self, s: Tensor) -> Tensor:
        """Height of the hull over s."""
        slope = self.slope_at(s)
        return self.conjugate(slope) + slope * s

    def largest_gap(self) -> Tensor:
        """Largest height of g over its hull, among the points."""
        return self._gaps().amax(dim=-1).clamp_min(0)

    def widest_point(self) -> Tensor:
        """The point at which g is highest over its hull."""
        return self.points.gather(-1, 1 + self._gaps().argmax(dim=-1, keepdim=True)).squeeze(-1)

    def _gaps(self) -> Tensor:
        steps = (self.slopes * self.points.diff(dim=-1)).cumsum(dim=-1)
        return self.values[..., 1:] - self.values[..., :1] - steps


def hull_of(profile: Profile, c: Tensor, low: Tensor, high: Tensor, around: Tensor | None = None) -> Hull:
    """Tabulate c psi on [low, high]: the ends, the knots, and where psi is curved a grid.

    Args:
        profile: psi.
        c: output weights.
        low: lower ends of the intervals.
        high: upper ends.
        around: points next to which the grid is refined, shaped like low.
    """
    c, low, high = torch.broadcast_tensors(c, low, high)
    inside = [torch.minimum(low.clamp_min(knot), high) for knot in profile.knots]
    if not profile.piecewise_linear:
        inside += [low + (high - low) * (k / (_GRID + 1)) for k in range(1, _GRID + 1)]
        if around is not None:
            near = [around + (high - low) * share for share in _NEAR]
            inside += [torch.minimum(torch.maximum(s, low), high) for s in near]
    points = torch.stack([low, *inside, high], dim=-1)
    if not profile.piecewise_linear:
        points = points.sort(dim=-1).values
    values = c.unsqueeze(-1) * profile.value(points)
    width = points.diff(dim=-1)
    local = c.unsqueeze(-1) * profile.derivative((points[..., 1:] + points[..., :-1]) / 2)
    # Secants over a few rounding units are noise; the derivative there is as good.
    sure = width > 1e-12 * (points[..., 1:].abs() + points[..., :-1].abs())
    raw = torch.where(sure, values.diff(dim=-1) / torch.where(sure, width, 1.0), local)
    return Hull(points, values, increasing(raw, torch.where(sure, width, 1e-30)))


def increasing(slopes: Tensor, width: Tensor) -> Tensor:
    r"""Nondecreasing slopes nearest to the given ones in weighted least squares: those of the lower hull.

    .. math:: \sigma_k = \max_{i \le k}\, \min_{j \ge k}\, \text{mean of slopes } i, \dots, j

    Args:
        slopes: (..., P-1) between neighbouring points.
        width: (..., P-1) distances of the points, which are the weights.
    """
    count = slopes.shape[-1]
    if count == 1 or bool((slopes.diff(dim=-1) >= 0).all()):
        return slopes
    best = None
    for i in range(count):
        # Sums restart at i: differences of one running sum would cancel.
        mean = (width * slopes)[..., i:].cumsum(dim=-1) / width[..., i:].cumsum(dim=-1)
        floor = mean.flip(-1).cummin(dim=-1).values.flip(-1)
        if best is None:
            best = floor
        else:
            best = torch.cat([best[..., :i], torch.maximum(best[..., i:], floor)], dim=-1)
    assert best is not None
    return best
