"""The classifier-learning stage: mini-batch hinge SGD on a two-layer net, one learning rate per layer."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.core.checks import require_labels
from karat.core.divergence import Diverged
from karat.core.ranges import Count, NonNegative, Share, Steps, checked
from karat.nets.two_layer import TwoLayer
from karat.training.optimisers import Adam, Momentum

Observe = Callable[[int, TwoLayer], Any]
MOSTLY = 0.6
"""Share of active samples below which the others are left out of the products."""


@dataclass(frozen=True, kw_only=True)
@checked
class ClassifierLearning:
    r"""Hinge SGD with momentum on all parameters of a truncated-ReLU net.

    .. math:: v \leftarrow \text{momentum}\, v + g, \qquad
              \theta \leftarrow \theta - \text{lr}_\theta\, (1 - t / \text{steps})\, v

    Args:
        steps: updates.
        lr_a: rate of the output weights.
        lr_W: rate of hidden weights and biases.
        momentum: share of the velocity that is kept; Adam has its own.
        batch_size: of an epoch's shuffled batches, the rest of an epoch is skipped.
        fade: whether the rates fall linearly to zero.
        sampling: "plain", or "balanced" batches with as many samples of each class, drawn with replacement.
        optimiser: "sgd", or "adam" with the same rates, which is not equivariant under rotations.

    Reading: momentum, separate rates, fading and balanced batches are not in the paper, whose single rate
        :math:`k^2 / (T m^{1/3})` leaves the output weights near zero at feasible widths.

    Ref: features, Eq 4; features, Thm 26
    """

    steps: Steps
    lr_a: NonNegative
    lr_W: NonNegative
    momentum: Share = 0.95
    batch_size: Count = 1000
    fade: bool = True
    sampling: Literal["plain", "balanced"] = "plain"
    optimiser: Literal["sgd", "adam"] = "sgd"

    @torch.no_grad()
    def run(
        self,
        net: TwoLayer,
        x: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator,
        observe: Observe | None = None,
        observe_at: Collection[int] = (),
    ) -> tuple[TwoLayer, list[tuple[int, Any]]]:
        """Train the net; the one that is given is left unchanged.

        Args:
            net: with hidden biases, the truncated ReLU and no output bias.
            x: (n, d) samples.
            y: (n,) labels.
            generator: of the batches.
            observe: called as observe(t, net_t) before update t = 0..steps.
            observe_at: the steps at which it is called.

        Returns:
            the last net, and pairs of a step and what `observe` returned.
        """
        if not isinstance(net.activation, TruncatedRelu) or net.b is None or net.c is not None:
            raise ValueError("`net` of `ClassifierLearning` must have hidden biases and the truncated ReLU.")
        y = require_labels(y, len(x)).to(x)
        theta = {name: tensor.clone() for name, tensor in net.parameters().items()}
        rates = {"W": self.lr_W, "b": self.lr_W, "a": self.lr_a}
        optimiser = Adam(theta) if self.optimiser == "adam" else Momentum(theta, self.momentum)
        measured: list[tuple[int, Any]] = []
        batches = shuffled_batches(y, self.batch_size, generator=generator, balanced=self.sampling != "plain")
        for step in range(self.steps + 1):
            if observe is not None and step in observe_at:
                measured.append((step, observe(step, net.replace(**_copies(theta)))))
            if step == self.steps:
                break
            batch = next(batches)
            gradient = hinge_gradient(theta, net.scale, x.index_select(0, batch), y[batch], step)
            fading = 1 - step / self.steps if self.fade else 1.0
            optimiser.step(gradient, {name: rate * fading for name, rate in rates.items()})
        return net.replace(**theta), measured


def hinge_gradient(
    theta: dict[str, Tensor], scale: float, x: Tensor, y: Tensor, step: int
) -> dict[str, Tensor]:
    """Gradient of the mean hinge loss of a truncated-ReLU net; samples beyond the margin are skipped.

    Args:
        theta: "W", "b" and "a" of the net.
        scale: of its output.
        x: (n, d) samples.
        y: (n,) labels.
        step: named in the error if the margins are not finite.
    """
    z = torch.addmm(theta["b"], x, theta["W"].T)
    arm = scale * theta["a"]
    margin = y * (z.clamp(0, 1) @ arm)
    if not bool(torch.isfinite(margin).all()):
        raise Diverged(step, "the training margins are not finite")
    # The hinge has slope -1 up to the margin 1 and 0 beyond.
    residual = (margin <= 1).to(y.dtype).mul_(y / -len(x))
    active = residual.nonzero().squeeze(1)
    if len(active) < MOSTLY * len(x):  # else copying the rows costs more than it spares
        residual, z, x = (table.index_select(0, active) for table in (residual, z, x))
    slope = gated(residual.unsqueeze(1), z)
    return {
        "a": scale * (residual @ z.clamp_(0, 1)),
        "W": (slope.T @ x).mul_(arm.unsqueeze(1)),
        "b": slope.sum(dim=0).mul_(arm),
    }


def gated(weight: Tensor, z: Tensor) -> Tensor:
    r""":math:`\text{weight} \cdot \phi'(z)` of the truncated ReLU, in one pass over memory.

    Args:
        weight: broadcasts to z.
        z: preactivations.
    """
    return torch.ops.aten.hardtanh_backward(weight.expand_as(z), z, 0.0, 1.0)


def shuffled_batches(
    y: Tensor, size: int, *, generator: torch.Generator, balanced: bool = False
) -> Iterator[Tensor]:
    """Endless index batches: a new permutation every epoch, or both classes in equal parts.

    Args:
        y: (n,) labels.
        size: of a batch, the n mod size samples left at the end of an epoch are skipped.
        generator: of the draws.
        balanced: draw half of every batch from each class, with replacement.
    """
    n, size = len(y), min(size, len(y))
    classes = [(y > 0).nonzero().squeeze(1), (y <= 0).nonzero().squeeze(1)]
    while balanced:
        counts = (size // 2, size - size // 2)
        drawn = [
            members[torch.randint(len(members), (count,), generator=generator)]
            for members, count in zip(classes, counts, strict=True)
        ]
        yield torch.cat(drawn)
    while True:
        order = torch.randperm(n, generator=generator)
        for start in range(0, n - size + 1, size):
            yield order[start : start + size]


def _copies(theta: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in theta.items()}
