"""One direction for every sample: the universal attack along a hidden signal."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import ShapeError, require_labels
from karat.core.classifier import Classifier
from karat.core.norms import norm
from karat.core.region import Region


@dataclass(frozen=True, eq=False)
class FixedDirection:
    r"""Every sample moves against its label along one vector, to the edge of its ball.

    .. math:: \delta = -y\, \tau\, v / \|v\|_p, \qquad \text{or} \qquad
        \delta = \arg\min_{\|\delta\|_p \le \tau} \langle y v, \delta\rangle \text{ if steepest.}

    The two agree for p = 2. For p = inf the second is -y tau sign(v) and is stronger on a net that is linear
    along v; for p = 1 it puts the radius on the largest entry of v. A box or a sphere cuts the result.

    Args:
        v: direction, one sample's shape, not zero.
        steepest: the second form; the first is the theorem's own.

    Symbols: v is M w_star in purification.

    Reading: the theorem scales M w_star itself, in l_inf too; the sign is our stronger variant.

    Ref: purification, Thm 5.1(c)
    """

    v: Tensor
    steepest: bool = False

    def __post_init__(self) -> None:
        if not bool(torch.isfinite(self.v).all()) or not bool((self.v != 0).any()):
            raise ValueError("`v` of `FixedDirection` must be finite and not zero.")

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations shaped like x; the classifier is not looked at."""
        require_labels(y, len(x))
        if self.v.shape != x.shape[1:]:
            raise ShapeError(
                f"`v` of `FixedDirection` must have shape {tuple(x.shape[1:])}, got {tuple(self.v.shape)}."
            )
        v = self.v.to(x).unsqueeze(0)
        sign = y.to(x.dtype).reshape(-1, *([1] * v[0].dim()))
        if self.steepest:
            return ball.extreme_point(-sign * v, x)
        unit = v / v.abs().max()
        length = ball.radius(x).reshape(sign.shape) / norm(unit, ball.p)
        delta = -sign * length * unit
        return delta if ball.domain is None else ball.project(delta, x)
