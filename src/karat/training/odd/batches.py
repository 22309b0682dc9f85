"""Where training batches come from: a fresh draw per step."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from karat.core.ranges import Count, checked
from karat.data.samples import DataModel


class Batches(Protocol):
    """The batch of every step."""

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs (n, d) and labels (n,)."""
        ...


@dataclass(frozen=True, eq=False)
@checked
class FreshBatches:
    """n new points of the data model at every step: gradient descent on the population up to sampling noise.

    Args:
        model: the law.
        n: batch size.
        generator: of the draws.
        dtype: of the tensors.
    """

    model: DataModel
    n: Count
    generator: torch.Generator
    dtype: torch.dtype = torch.float32

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """A new draw, whatever the step."""
        samples = self.model.sample(self.n, generator=self.generator, dtype=self.dtype)
        return samples.x, samples.y
