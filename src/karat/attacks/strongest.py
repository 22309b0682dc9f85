"""The pointwise strongest of several attacks."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.gradient_step import GradientStep
from karat.attacks.judge import run_attack
from karat.attacks.method import Method
from karat.attacks.pgd import PGD, better
from karat.attacks.steepest import Steepest
from karat.core.classifier import Classifier
from karat.core.region import Region


def default_methods() -> tuple[Method, ...]:
    """The fast gradient method, long PGD from zero, short PGD from random starts, the gradient line."""
    return (Steepest(), PGD(steps=40), PGD(steps=20, restarts=3, random_start=True), GradientStep())


@dataclass(frozen=True)
class Strongest:
    """Per sample, the perturbation of smallest margin among all methods and zero.

    Never weaker than any of its members on any sample; every member is judged, so a member that breaks its
    budget is an error and not a better attack. Deterministic given the generator's state.

    Args:
        methods: the attacks to compare; by default those of `default_methods`, one of which is random.
    """

    methods: tuple[Method, ...] | None = None

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations shaped like x."""
        delta, margin = torch.zeros_like(x), classifier.margin(x, y)
        for method in default_methods() if self.methods is None else self.methods:
            result = run_attack(method, classifier, x, y, ball, generator=generator)
            delta, margin = better(delta, margin, result.delta, result.margin)
        return delta
