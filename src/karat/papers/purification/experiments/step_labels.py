"""Steps that are taken apart after training, on true labels or, as controls, on wrong ones."""

from dataclasses import dataclass, replace
from typing import Literal

import torch

from karat.data import Samples, SparseCoding
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.training.odd import FreshBatches


@dataclass(frozen=True, eq=False)
class ReversedLabels:
    """A data model with every label turned round.

    Args:
        model: with true labels.
    """

    model: SparseCoding

    @property
    def d(self) -> int:
        """Dimension of the inputs."""
        return self.model.d

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        """Draw points with wrong labels.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        samples = self.model.sample(n, generator=generator, dtype=dtype)
        return replace(samples, y=-samples.y, flipped=~samples.flipped)


@dataclass(frozen=True, kw_only=True)
class StepConfig(OddNetConfig):
    """Data, start and training, and the labels of the steps that are taken apart.

    Args:
        step_labels: "random" takes the labels of these steps from a coin and "turned" has all of them wrong
            while training itself sees the true ones; "reversed" turns the labels of both round.
    """

    step_labels: Literal["true", "random", "turned", "reversed"] = "true"

    def batches(self, model: SparseCoding, generator: torch.Generator) -> FreshBatches:
        """Fresh points at every step, with the labels that training sees."""
        fresh = super().batches(model, generator)
        return replace(fresh, model=ReversedLabels(model)) if self.step_labels == "reversed" else fresh

    def labelled(self, samples: Samples, generator: torch.Generator) -> Samples:
        """The points with the labels that the step sees.

        Args:
            samples: with true labels.
            generator: of the coin.
        """
        if self.step_labels == "true":
            return samples
        if self.step_labels in ("turned", "reversed"):
            return replace(samples, y=-samples.y, flipped=~samples.flipped)
        coin = (torch.randint(2, (len(samples),), generator=generator) * 2 - 1).to(samples.y)
        return replace(samples, y=coin, flipped=coin != samples.y_clean)
