"""Gradient descent on the loss at points that any perturbation function picks from finite sets."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_shape
from karat.core.divergence import Diverged
from karat.core.losses import Logistic, Loss
from karat.core.ranges import Positive, checked
from karat.training.projections import Projection

Pick = Callable[[Any, Tensor, int], Tensor]
"""A perturbation function: (net, margins (n, K) at all allowed points, step) -> index (n,) picked."""


@dataclass(frozen=True)
class Sets:
    """Allowed points: K per sample, the first one the sample itself.

    Args:
        x: (n, K, d).
        y: (n,) labels.
    """

    x: Tensor
    y: Tensor

    def margins(self, net: Any) -> Tensor:
        """y f at every allowed point, (n, K)."""
        n, K, d = self.x.shape
        margins: Tensor = self.y.unsqueeze(1) * net(self.x.reshape(n * K, d)).reshape(n, K)
        return margins


def worst(loss: Loss) -> Pick:
    """The strongest perturbation function: argmax of the loss.

    Ref: convergence, Def 3.4
    """
    return lambda net, margins, step: loss(margins).argmax(dim=1)


def identity(net: Any, margins: Tensor, step: int) -> Tensor:
    """No perturbation: always the first point, which is the sample itself.

    Args:
        net: not looked at.
        margins: (n, K) at all allowed points.
        step: not looked at.
    """
    return torch.zeros(len(margins), dtype=torch.long)


def hashed(net: Any, margins: Tensor, step: int) -> Tensor:
    """A deterministic but wildly discontinuous choice: digits of the margin decide.

    Args:
        net: not looked at.
        margins: (n, K) at all allowed points.
        step: not looked at.
    """
    return (margins[:, 0].double() * 1e6).floor().long().remainder(margins.shape[1])


def random(generator: torch.Generator) -> Pick:
    """A point of the set, uniformly, anew at every step."""
    return lambda net, margins, step: torch.randint(margins.shape[1], (len(margins),), generator=generator)


def one_step(sets: Sets) -> Pick:
    """The allowed point farthest against the gradient at the sample: one step of a heuristic attack."""

    def pick(net: Any, margins: Tensor, step: int) -> Tensor:
        centre = sets.x[:, 0]
        gradient = sets.y.unsqueeze(1) * net.input_gradient(centre)
        return torch.einsum("nkd,nd->nk", sets.x - centre.unsqueeze(1), gradient).argmin(dim=1)

    return pick


@dataclass(frozen=True, kw_only=True)
@checked
class SurrogateDescent:
    r"""Projected descent on the loss at the points that a perturbation function A picks.

    .. math:: W \leftarrow P\big(W - \eta \nabla L_A(W)\big), \qquad
              L_A(W) = \frac1n \sum_i \ell\big(y_i f(W, A(W, x_i))\big),

    where the gradient does not go through A.

    Args:
        lr: step size, eta.
        trainable: names of the parameters that move.
        loss: of the margin.
        projection: P, None for plain descent.

    Ref: convergence, Thm 4.1; convergence, Thm 5.1
    """

    lr: Positive
    trainable: tuple[str, ...] = ("W",)
    loss: Loss = field(default_factory=Logistic)
    projection: Projection | None = None

    @torch.no_grad()
    def run(
        self,
        net: Any,
        sets: Sets,
        pick: Pick,
        *,
        steps: int,
        observe: Callable[[int, Any, float, float], None] | None = None,
    ) -> tuple[Any, list[float]]:
        r"""Train for `steps` updates.

        Args:
            net: where training begins.
            sets: the allowed points of every sample.
            pick: A, the perturbation function.
            steps: updates.
            observe: called before every update with step, net, :math:`L_A` and :math:`\|\nabla L_A\|^2`.

        Returns:
            the last net and :math:`L_A(W_0), \dots, L_A(W_{\text{steps}-1})`.
        """
        require_integer(steps, "steps", "SurrogateDescent", minimum=1)
        require_shape(sets.x, "x", (None, None, net.d))
        losses, rows = [], torch.arange(len(sets.y))
        for step in range(steps):
            margins = sets.margins(net)
            if not bool(torch.isfinite(margins).all()):
                raise Diverged(step, "the training margins are not finite")
            chosen = pick(net, margins, step)
            points = sets.x[rows, chosen]
            margin = margins[rows, chosen]
            losses.append(float(self.loss(margin).mean()))
            _, pullback = net.value_and_pullback(points)
            gradient = pullback(self.loss.derivative(margin) * sets.y / len(sets.y))
            moves = {name: gradient[name] for name in self.trainable}
            if observe is not None:
                size = math.fsum(float(move.square().sum()) for move in moves.values())
                observe(step, net, losses[-1], size)
            parameters = net.parameters()
            net = net.replace(**{name: parameters[name] - self.lr * move for name, move in moves.items()})
            if self.projection is not None:
                net = self.projection(net)
        return net, losses
