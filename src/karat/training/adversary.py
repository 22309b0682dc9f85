"""The attacker inside adversarial training."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.method import Method
from karat.core.ranges import Steps, checked
from karat.core.region import Region
from karat.nets.module import as_classifier
from karat.nets.net import Net
from karat.training.schedules import Schedule


@dataclass(frozen=True)
@checked
class Adversary:
    r"""Replaces x by :math:`x + \delta`, with :math:`\delta` from any attack method inside the ball.

    Args:
        method: the attack.
        ball: the allowed perturbations.
        first_step: training steps before this one see clean data (1: no perturbation at t = 0).
        radius: a schedule that overrides the ball's radius step by step.

    Ref: benign, Alg 1; purification, Alg 2
    """

    method: Method
    ball: Region
    first_step: Steps = 0
    radius: Schedule | None = None

    def perturb(
        self, net: Net, x: Tensor, y: Tensor, step: int, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """The inputs that training sees at this step.

        Args:
            net: the present net.
            x: (n, d) samples.
            y: (n,) labels.
            step: of the training.
            generator: of attacks that draw.
        """
        if step < self.first_step:
            return x
        ball = self.ball if self.radius is None else self.ball.with_tau(self.radius(step))
        return x + self.method(as_classifier(net), x, y, ball, generator=generator)
