"""Stochastic gradient descent that watches how far every neuron has moved, for very wide nets."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.core.activations import Relu
from karat.core.checks import require_labels, require_shape
from karat.core.divergence import Diverged
from karat.core.ranges import Count, Positive, checked
from karat.nets.two_layer import TwoLayer


@dataclass(frozen=True)
class Exit:
    """What was measured on the last net inside a ball.

    Args:
        weight_radius: of the ball.
        step: updates that led to the net.
        left: whether the next update leaves the ball; false where the steps ran out first.
        values: what was measured.
    """

    weight_radius: float
    step: int
    left: bool
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
@checked
class ExitSGD:
    r"""Mini-batch descent on the mean logistic loss that notes when a neuron leaves each of several balls.

    One trajectory serves all radii: before an update that takes some :math:`\|w_s - w_{s0}\|` beyond a
    radius, the net is measured as the last one inside that ball. With one radius this is training that stops
    at its exit.

    Args:
        lr: step size.
        batch_size: samples per step, drawn without replacement epoch by epoch.
        max_steps: where training ends although not every ball was left.
        fast_lr: step size once the movement exceeds `fast_after` (None: never).
        fast_after: largest movement of a neuron from which on `fast_lr` is used.

    Reading: only W is trained, biases and output weights stay. Memory is two copies of W and a few (batch, m)
        tables: W changes in place, and :math:`\|w_s - w_{s0}\|^2` follows each update from inner products.

    Ref: lazy, Sec 5.1
    """

    lr: Positive
    batch_size: Count
    max_steps: Count
    fast_lr: Positive | None = None
    fast_after: float = math.inf

    @torch.no_grad()
    def run(
        self,
        net: TwoLayer,
        x: Tensor,
        y: Tensor,
        radii: Sequence[float],
        *,
        observe: Callable[[TwoLayer], dict[str, Any]],
        generator: torch.Generator,
    ) -> list[Exit]:
        """Train until the largest ball is left or the steps are used up.

        Args:
            net: ReLU net, left unchanged.
            x: (n, d) samples.
            y: (n,) labels.
            radii: increasing (2, inf) radii.
            observe: measures the last net inside each ball, without keeping it: W changes afterwards.
            generator: of the batches.

        Returns:
            one exit per radius; `left` is false where the steps ran out first.
        """
        if not isinstance(net.activation, Relu):
            raise ValueError(f"`ExitSGD` trains ReLU nets, got {type(net.activation).__name__}.")
        require_shape(x, "x", (None, net.d))
        y = require_labels(y, len(x)).to(x)
        moving = net.replace(W=net.W.clone())
        # In double precision, for thousands of small increments are added up.
        squared = net.W.new_zeros(net.m, dtype=torch.float64)
        todo, exits, step = list(radii), [], 0
        order, position = torch.randperm(len(x), generator=generator), 0
        size = min(self.batch_size, len(x))
        while todo and step < self.max_steps:
            if position + size > len(x):
                order, position = torch.randperm(len(x), generator=generator), 0
            batch, position = order[position : position + size], position + size
            moved = math.sqrt(float(squared.max()))
            lr = self.fast_lr if self.fast_lr is not None and moved >= self.fast_after else self.lr
            pull, longer = self._update(moving, net, x[batch], y[batch], squared, lr, step)
            reached = math.sqrt(float(longer.max()))
            # One update may leave several balls: the same net is the last one inside each of them.
            while todo and reached > todo[0]:
                exits.append(Exit(todo.pop(0), step, True, observe(moving)))
            if todo:
                moving.W.addmm_(pull.T, x[batch])
                squared, step = longer, step + 1
        exits += [Exit(radius, step, False, observe(moving)) for radius in todo]
        return exits

    def _update(
        self, moving: TwoLayer, start: TwoLayer, x: Tensor, y: Tensor, squared: Tensor, lr: float, step: int
    ) -> tuple[Tensor, Tensor]:
        """The update as coefficients (batch, m) of the samples, and the squared distances after it."""
        z = moving.preactivations(x)
        margin = y * moving.output(moving.activation(z))
        if not bool(torch.isfinite(margin).all()):
            raise Diverged(step, "the training margins are not finite")
        residual = torch.sigmoid(-margin) * y * (lr / len(x))
        pull = (residual.unsqueeze(1) * (z > 0)).mul_(start.scale * start.a)
        # |D + P'x|^2 = |D|^2 + 2 <D, P'x> + |P'x|^2, and D x is the change of the preactivation.
        change = z.sub_(start.preactivations(x)).mul_(2).add_((x @ x.T) @ pull)
        return pull, (squared + (pull * change).sum(dim=0)).clamp_min_(0)
