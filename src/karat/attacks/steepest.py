"""The fast gradient method: one step to the edge of the ball, where the linearised margin is smallest."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_number
from karat.core.classifier import Classifier
from karat.core.norms import dual_exponent, norm, per_sample
from karat.core.region import Region


@dataclass(frozen=True, kw_only=True)
class Steepest:
    """The point of the ball that the margin's gradient likes least (FGM).

        delta = argmin_{|delta|_p <= tau} <g, delta>  if |g|_q >= zero_below, else 0,   g = grad margin(x)

    It is -tau g/|g|_2 for p = 2, -tau sign(g) for p = inf, and the whole radius on the largest entry of g
    for p = 1. On a linear classifier it is the strongest attack, with margin - tau |w|_q.

    Args:
        zero_below: smallest gradient, in the dual norm |.|_q, that is followed.

    Reading: the paper's 1/poly(d) is `zero_below`; its default 0 follows every gradient but the zero one.
    For a scalar net the gradient of the margin is y grad f(x).

    Ref: purification, Def 4.2
    """

    zero_below: float = 0.0

    def __post_init__(self) -> None:
        require_number(self.zero_below, "zero_below", "Steepest", minimum=0)

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
