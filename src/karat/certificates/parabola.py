"""Parabolas below a neuron's function: what its curve costs is then a quadratic form of the input."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.certificates.hull import Hull, increasing
from karat.certificates.profile import Profile
from karat.certificates.rounding import FUNCTION

_SHARES = (1e-3, 4e-3, 1.5e-2, 4e-2, 0.08, 0.13, 0.2, 0.3, 0.42, 0.55, 0.7, 0.85, 1.0)


@dataclass(frozen=True, eq=False)
class Graph:
    """g = c psi of every neuron at points from low to high, finer around the centre z, and between them.

    Args:
        profile: psi.
        c: (U,) output weights.
        z: (U,) preactivations at the centre.
        points: (U, P) increasing abscissae.
        values: (U, P) of g there.
    """

    profile: Profile
    c: Tensor
    z: Tensor
    points: Tensor
    values: Tensor

    def steepest_bend(self) -> Tensor:
        """(U,) the least curvature lam for which the tangent at z minus lam (t - z)^2 stays below g."""
        away = self.points - self.z.unsqueeze(1)
        steep = self.c * self.profile.derivative(self.z)
        tangent = (self.c * self.profile.value(self.z)).unsqueeze(1) + steep.unsqueeze(1) * away
        far = away.abs() > 1e-9 * (1e-3 + self.z.abs().unsqueeze(1))
        need = (tangent - self.values) / torch.where(far, away, 1.0).square()
        return torch.where(far, need, 0.0).amax(dim=1).clamp_min(0)

    def width(self) -> Tensor:
        """(U,) lengths of the intervals."""
        return self.points[:, -1] - self.points[:, 0]

    def bent(self, lam: Tensor) -> Hull:
        """The lower hull of g + lam (t - z)^2, for choosing slopes."""
        away = self.points - self.z.unsqueeze(1)
        heights = self.values + lam.unsqueeze(1) * away.square()
        gaps = self.points.diff(dim=1)
        sure = gaps > 1e-12 * (self.points[:, 1:].abs() + self.points[:, :-1].abs())
        raw = torch.where(sure, heights.diff(dim=1) / torch.where(sure, gaps, 1.0), 0.0)
        return Hull(self.points, heights, increasing(raw, torch.where(sure, gaps, 1e-30)))

    def lowest(self, alpha: Tensor, lam: Tensor) -> Tensor:
        """(U,) min over [low, high] of g(t) - alpha t + lam (t - z)^2, from below, rounding charged.

        Between two points g is linear, concave or convex: the chord is below it in the first two cases, any
        tangent in the third, and a line plus a parabola has its minimum in closed form.
        """
        left, right = self.points[:, :-1], self.points[:, 1:]
        slope, bend, z = alpha.unsqueeze(1), lam.unsqueeze(1), self.z.unsqueeze(1)
        gap = right - left
        chord = torch.where(gap > 0, self.values.diff(dim=1) / torch.where(gap > 0, gap, 1.0), 0.0)

        def minimum(steep: Tensor) -> Tensor:
            t = z + (slope - steep) / (2 * bend).clamp_min(1e-300)
            return torch.minimum(torch.maximum(t, left), right)

        t = minimum(chord)
        value = self.values[:, :-1] + chord * (t - left) - slope * t + bend * (t - z).square()
        convex = self._convex(left, right)
        if bool(convex.any()):
            touch, c = t, self.c.unsqueeze(1)
            steep = c * self.profile.derivative(touch)
            s = minimum(steep)
            line = c * self.profile.value(touch) + steep * (s - touch)
            value = torch.where(convex, line - slope * s + bend * (s - z).square(), value)
        return value.amin(dim=1) - self._rounding(alpha, lam)

    def _convex(self, left: Tensor, right: Tensor) -> Tensor:
        """Segments on a piece where g is convex; knots are points, so no segment has two pieces."""
        middle = (left + right) / 2
        convex = torch.zeros_like(middle, dtype=torch.bool)
        for start, end, curvature in self.profile.pieces():
            convex |= (self.c.unsqueeze(1) * curvature > 0) & (middle >= start) & (middle <= end)
        return convex

    def _rounding(self, alpha: Tensor, lam: Tensor) -> Tensor:
        reach, width = self.points.abs().amax(dim=1), self.width()
        ends = self.profile.derivative(self.points[:, [0, -1]]).abs().amax(dim=1)
        top = max(abs(side) for side in self.profile.steepness)
        steep = ends if top == torch.inf else torch.full_like(ends, top)
        of_function = self.c.abs() * ((2 + steep) * (reach + width) + 2 * self.profile.size)
        largest = self.values.abs().amax(dim=1)
        return 2 * FUNCTION * (of_function + largest + alpha.abs() * (reach + width) + lam * width.square())


def graph_of(profile: Profile, c: Tensor, z: Tensor, low: Tensor, high: Tensor) -> Graph:
    """Tabulate the functions of some neurons: z itself, points around it towards both ends, and the knots.

    Args:
        profile: psi.
        c: (U,) output weights.
        z: (U,) preactivations at the centre.
        low: (U,) lower ends of the intervals.
        high: (U,) upper ends.
    """
    z = torch.minimum(torch.maximum(z, low), high)
    points = [z, *(z + (high - z) * share for share in _SHARES[:-1])]
    points += [low, high, *(z - (z - low) * share for share in _SHARES[:-1])]
    points += [torch.minimum(low.clamp_min(knot), high) for knot in profile.knots]
    table = torch.stack(points, dim=1).clamp(low.unsqueeze(1), high.unsqueeze(1)).sort(dim=1).values
    return Graph(profile, c, z, table, c.unsqueeze(1) * profile.value(table))
