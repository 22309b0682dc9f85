"""Learning rates that rise first and then fall to zero or in steps, as image training uses them."""

import math
from dataclasses import dataclass

from karat.core.ranges import Count, NonNegative, Positive, Steps, checked


@dataclass(frozen=True)
@checked
class WarmCosine:
    """From 0 linearly to a value, then down to 0 along half a cosine.

    Args:
        value: the largest rate.
        steps: where the rate reaches 0.
        warmup: steps of the rise.

    >>> [round(WarmCosine(1.0, 10, 2)(t), 3) for t in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.038]
    """

    value: NonNegative
    steps: Count
    warmup: Steps = 0

    def __call__(self, step: int) -> float:
        """The rate of this step."""
        if step < self.warmup:
            return self.value * (step + 1) / self.warmup
        share = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.value * (1 + math.cos(math.pi * min(share, 1.0))) / 2


@dataclass(frozen=True)
@checked
class Milestones:
    """A value that is multiplied by a factor at given steps.

    Args:
        value: the first rate.
        at: steps at which it changes.
        factor: by which it changes.

    >>> [round(Milestones(0.1, (40,), 0.1)(t), 3) for t in (0, 39, 40)]
    [0.1, 0.1, 0.01]

    Ref: purification, Sec 8.2
    """

    value: NonNegative
    at: tuple[Count, ...]
    factor: Positive = 0.1

    def __call__(self, step: int) -> float:
        """The rate of this step."""
        return self.value * self.factor ** sum(step >= reached for reached in self.at)
