"""Classifiers that know the dictionary: the hard- and soft-threshold oracles, with their worst cases."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.ball import Ball
from karat.core.checks import require_number, require_shape
from karat.nets.odd_two_layer import OddTwoLayer


def soft_threshold(
    M: Tensor, w_star: Tensor, scale: float, threshold: float, sigma_rho: float = 0.0
) -> OddTwoLayer:
    r"""The odd net of exact features, :math:`w_i = \text{scale} \cdot w^*_i M_i`: the end of purification.

    Args:
        M: (d, D) dictionary.
        w_star: (D,) label vector.
        scale: length of a row per unit of :math:`|w^*_i|`.
        threshold: b > 0.
        sigma_rho: noise of the neurons.

    Ref: purification, Sec 3
    """
    W = scale * (M * w_star).T.contiguous()
    return OddTwoLayer(W, torch.tensor(-threshold, dtype=W.dtype), sigma_rho)


@dataclass(frozen=True, eq=False)
class HardThreshold:
    r"""The classifier that knows the dictionary and counts a feature only where it is clearly present.

    .. math:: f(x) = \sum_i w^*_i \langle M_i, x \rangle \, 1[\, |\langle M_i, x \rangle| \ge \text{level} \,]

    Args:
        M: (d, D) orthonormal columns.
        w_star: (D,) label vector.
        level: :math:`1 / (2 \sqrt k)` in the theory.

    Ref: purification, Sec 3
    """

    M: Tensor
    w_star: Tensor
    level: float

    def __post_init__(self) -> None:
        require_shape(self.w_star, "w_star", (self.M.shape[1],))
        require_number(self.level, "level", "HardThreshold", positive=True)

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """y f(x)."""
        return self.margin_and_gradient(x, y)[0]

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """y f(x) and its gradient, which does not see the jumps."""
        M, w_star = self.M.to(x), self.w_star.to(x)
        v = x @ M
        weight = w_star * (v.abs() >= self.level)
        sign = y.to(x)
        return sign * (v * weight).sum(dim=1), sign.unsqueeze(1) * (weight @ M.T)

    def worst_margin(self, x: Tensor, y: Tensor, ball: Ball) -> tuple[Tensor, Tensor]:
        r"""Bounds (below, above) on the smallest margin in the ball, exact for M = I and p = inf.

        In the dictionary's basis the problem is a sum over coordinates, each of which either moves along its
        line or jumps at :math:`\pm` level. For p = inf (M a signed permutation) every coordinate takes its
        own best move. For p = 2 the best slide of the coordinates that are on gains
        :math:`\tau \|w^*_{on}\|_2`; the upper bound lets one coordinate jump and the rest slide, the lower
        bound lets every coordinate within reach jump for free.

        Args:
            x: (n, d) inputs.
            y: (n,) their labels.
            ball: of the l2 or the l_inf norm.
        """
        M, w_star, tau = self.M.double(), self.w_star.double(), ball.radius(x.double())
        v, sign = x.double() @ M, y.double().unsqueeze(1)
        pull = sign * w_star  # the adversary wants sum of pull * v * 1[|v| >= level] small
        if ball.p == 2:
            return self._worst_l2(v, pull, tau)
        if not torch.equal(self.M.abs().sum(dim=0), torch.ones(self.M.shape[1], dtype=self.M.dtype)):
            raise ValueError("`worst_margin` of `HardThreshold` in l_inf needs features along the axes.")
        # Linear on each side of the dead zone: the minimum is at an end, at a jump, or inside the zone.
        low, high = v - tau.unsqueeze(1), v + tau.unsqueeze(1)
        ends = [torch.where(end.abs() >= self.level, pull * end, 0.0) for end in (low, high)]
        inner = [
            torch.where((low <= jump) & (jump <= high), pull * jump, torch.inf)
            for jump in (self.level, -self.level)
        ]
        # A coordinate that can enter the dead zone can contribute nothing.
        dead = torch.where((low < self.level) & (high > -self.level), 0.0, torch.inf)
        worst = torch.stack([*ends, *inner, dead]).amin(dim=0).sum(dim=1)
        return worst, worst

    def _worst_l2(self, v: Tensor, pull: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        """The bounds for p = 2; `v` are the coordinates, `pull` what one unit of each adds to the margin."""
        on = v.abs() >= self.level
        value = torch.where(on, pull * v, 0.0)
        slide = torch.where(on, pull, 0.0)
        base, slope = value.sum(dim=1), torch.linalg.vector_norm(slide, dim=1)
        # Jumps: a kept coordinate that helps is dropped, a dropped one is pushed over the level that hurts.
        edge = -pull.sign() * self.level
        cost = torch.where(on, v.abs() - self.level, (edge - v).abs())
        gain = torch.where(on, value.clamp_min(0.0), pull.abs() * self.level)
        left = (tau.unsqueeze(1).square() - cost.square()).clamp_min(0.0).sqrt()
        rest = (slope.square().unsqueeze(1) - slide.square()).clamp_min(0.0).sqrt()
        one = torch.where(cost < tau.unsqueeze(1), base.unsqueeze(1) - gain - left * rest, torch.inf)
        above = torch.minimum(base - tau * slope, one.amin(dim=1))
        # No more jumps than the radius pays for, each with its full gain, and the slide for free besides.
        order = cost.sort(dim=1)
        paid = order.values.square().cumsum(dim=1) <= tau.square().unsqueeze(1)
        reach = cost <= tau.unsqueeze(1)
        best = torch.where(reach, gain, 0.0).sort(dim=1, descending=True).values
        free = torch.where(paid, best, 0.0).sum(dim=1)
        extra = torch.linalg.vector_norm(torch.where(reach | on, pull, 0.0), dim=1)
        return torch.where(reach.any(dim=1), base - tau * extra - free, base - tau * slope), above
