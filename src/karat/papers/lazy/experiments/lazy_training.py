"""Lazy training: stochastic gradient descent on digits, watched until the rows leave the lazy ball."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import MinLen

from karat.core.ranges import Count, Positive, settings
from karat.data.digits import Source
from karat.data.samples import Samples
from karat.nets import TwoLayer, init
from karat.papers.lazy.experiments.digits import Digits, Scaling
from karat.training.exit_sgd import Exit, ExitSGD


@dataclass(frozen=True, kw_only=True)
@settings
class LazyTrainingConfig:
    """Settings of one trajectory.

    Args:
        side: images are side x side.
        m: width.
        C0: balls of radius C0/sqrt m whose last inside net is measured, increasing.
        scaling: raw pixels or unit length.
        bias: whether the first layer has one.
        padded_from: control with the data of a smaller side (None: no padding).
        classes: the two digits; the second has label +1.
        n_test: test images whose flips are measured; the test error uses all images.
        lr: step size until the movement exceeds 20/sqrt m.
        fast_lr: step size from there on (None: the same).
        batch_size: images per step of SGD.
        max_steps: where training ends although not every ball was left.
        source: embedded digits or full MNIST.
    """

    side: Count
    m: Count
    C0: Annotated[tuple[Positive, ...], MinLen(1)] = (10.0,)
    scaling: Scaling = "unit"
    bias: bool = False
    padded_from: Count | None = None
    classes: tuple[int, int] = (0, 1)
    n_test: Count = 200
    lr: Positive = 1.0
    fast_lr: Positive | None = None
    batch_size: Count = 4
    max_steps: Count = 4000
    source: Source = "embedded"

    def __post_init__(self) -> None:
        _ = self.digits  # which refuses what no digits have
        if list(self.C0) != sorted(set(self.C0)):
            raise ValueError(
                f"`C0` of `{type(self).__name__}` must hold increasing numbers > 0, got {self.C0}."
            )

    @property
    def digits(self) -> Digits:
        """The data."""
        return Digits(
            side=self.side,
            source=self.source,
            padded_from=self.padded_from,
            scaling=self.scaling,
            classes=self.classes,
        )

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2


def train(
    config: LazyTrainingConfig,
    generator: torch.Generator,
    measure: Callable[[TwoLayer, Samples], dict[str, Any]],
) -> list[Exit]:
    """Train once, measuring the last net inside every ball; W moves on, so that no net can be kept.

    Args:
        config: settings of the trajectory.
        generator: draws the start, then the batches.
        measure: (last net inside a ball, all test samples) -> values of its exit.
    """
    pool = config.digits.load(train=True, dtype=torch.float32)
    test = config.digits.load(train=False, dtype=torch.float32)
    inputs = torch.cat([pool.x, pool.x.new_ones(len(pool), 1)], dim=1) if config.bias else pool.x
    net = init.gaussian(inputs.shape[1], config.m, generator=generator, dtype=torch.float32)
    root = math.sqrt(config.m)
    sgd = ExitSGD(
        lr=config.lr,
        batch_size=config.batch_size,
        max_steps=config.max_steps,
        fast_lr=config.fast_lr,
        fast_after=20 / root,
    )

    def observe(net: TwoLayer) -> dict[str, Any]:
        # Attacks see the image alone: the weight of the constant input becomes the bias it stands for.
        return measure(net.replace(W=net.W[:, :-1], b=net.W[:, -1]) if config.bias else net, test)

    return sgd.run(
        net, inputs, pool.y, [value / root for value in config.C0], observe=observe, generator=generator
    )
