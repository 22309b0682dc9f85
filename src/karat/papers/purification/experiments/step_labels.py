"""Steps that are taken apart after training, on true labels or, as a control, on those of a coin."""

from dataclasses import dataclass, replace
from typing import Literal

import torch

from karat.data import Samples
from karat.papers.purification.experiments.odd_net_config import OddNetConfig


@dataclass(frozen=True, kw_only=True)
class StepConfig(OddNetConfig):
    """Data, start and training, and the labels of the steps that are taken apart.

    Args:
        step_labels: "random" takes the labels of these steps from a coin, "turned" has all of them wrong;
            training itself sees the true ones.
    """

    step_labels: Literal["true", "random", "turned"] = "true"

    def labelled(self, samples: Samples, generator: torch.Generator) -> Samples:
        """The points with the labels that the step sees.

        Args:
            samples: with true labels.
            generator: of the coin.
        """
        if self.step_labels == "true":
            return samples
        if self.step_labels == "turned":
            return replace(samples, y=-samples.y, flipped=-samples.y != samples.y_clean)
        coin = (torch.randint(2, (len(samples),), generator=generator) * 2 - 1).to(samples.y)
        return replace(samples, y=coin, flipped=coin != samples.y_clean)
