"""Steps that are taken apart after training, on true labels or, as controls, on wrong ones."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from karat.data import Samples, SparseCoding
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.training.odd.batches import Batches


@dataclass(frozen=True)
class ReversedLabels:
    """Batches with every label turned round.

    Args:
        batches: with true labels.
    """

    batches: Batches

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and wrong labels."""
        x, y = self.batches(step)
        return x, -y


@dataclass(frozen=True, kw_only=True)
class StepConfig(OddNetConfig):
    """Data, start and training, and the labels of the steps that are taken apart.

    Args:
        step_labels: "random" takes the labels of these steps from a coin while training itself sees the true
            ones; "reversed" turns the labels of both round.
    """

    step_labels: Literal["true", "random", "reversed"] = "true"

    def batches(self, model: SparseCoding, generator: torch.Generator) -> Batches:
        """Fresh points at every step, with the labels that training sees."""
        fresh = super().batches(model, generator)
        return ReversedLabels(fresh) if self.step_labels == "reversed" else fresh

    def labelled(self, samples: Samples, generator: torch.Generator) -> Samples:
        """The points with the labels that the step sees.

        Args:
            samples: with true labels.
            generator: of the coin.
        """
        if self.step_labels == "true":
            return samples
        if self.step_labels == "reversed":
            return replace(samples, y=-samples.y, flipped=~samples.flipped)
        coin = (torch.randint(2, (len(samples),), generator=generator) * 2 - 1).to(samples.y)
        return replace(samples, y=coin, flipped=coin != samples.y_clean)
