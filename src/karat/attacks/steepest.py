"""The fast gradient method: one step to the edge of the ball, where the linearised margin is smallest."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.classifier import Classifier
from karat.core.norms import dual_exponent, norm, per_sample
from karat.core.ranges import NonNegative, checked
from karat.core.region import Region


@dataclass(frozen=True, kw_only=True)
@checked
class Steepest:
    r"""The point of the ball that the margin's gradient likes least (FGM).

    .. math:: \delta = \arg\min_{\|\delta\|_p \le \tau} \langle g, \delta\rangle
        \text{ if } \|g\|_q \ge \text{zero\_below, else } 0, \qquad g = \nabla\, \text{margin}(x)

    It is :math:`-\tau g/\|g\|_2` for p = 2, :math:`-\tau\, \mathrm{sign}(g)` for p = inf, and the whole
    radius on the largest entry of g for p = 1. On a linear classifier it is the strongest attack, and
    lowers the margin by :math:`\tau \|w\|_q`.

    Args:
        zero_below: smallest gradient, in the dual norm |.|_q, that is followed.

    Reading: the paper's 1/poly(d) is `zero_below`; its default 0 follows every gradient but the zero one.
    For a scalar net the gradient of the margin is y grad f(x).

    Ref: purification, Def 4.2
    """

    zero_below: NonNegative = 0.0

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
        _, gradient = classifier.margin_and_gradient(x, y)
        delta = ball.extreme_point(-gradient, x)
        if self.zero_below > 0:
            small = norm(gradient, dual_exponent(ball.p)) < self.zero_below
            delta = delta.masked_fill(per_sample(small, delta), 0.0)
        return delta
