"""The attacker inside adversarial training."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.method import Method
from karat.core.checks import require_integer
from karat.core.region import Region
from karat.nets.module import as_classifier
from karat.nets.net import Net
from karat.training.schedules import Schedule


@dataclass(frozen=True)
class Adversary:
    """Replaces x by x + delta with delta from any attack method inside the ball.

    Args:
        method: the attack.
        ball: the allowed perturbations.
        first_step: training steps before this one see clean data (1: no perturbation at t = 0).
        radius: a schedule that overrides the ball's radius step by step.

    Ref: benign, Alg 1; purification, Alg 2
    """

    method: Method
    ball: Region
    first_step: int = 0
    radius: Schedule | None = None

    def __post_init__(self) -> None:
        require_integer(self.first_step, "first_step", "Adversary", minimum=0)

    def perturb(
        self, net: Net, x: Tensor, y: Tensor, step: int, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """The inputs that training sees at this step."""
        if step < self.first_step:
            return x
        ball = self.ball if self.radius is None else self.ball.with_tau(self.radius(step))
        return x + self.method(as_classifier(net), x, y, ball, generator=generator)
