"""Learning rates that rise first and then fall to zero or in steps, as image training uses them."""

import math
from dataclasses import dataclass

from karat.core.checks import require_integer, require_number


@dataclass(frozen=True)
class WarmCosine:
    """From 0 linearly to `value` over `warmup` steps, then down to 0 along half a cosine at `steps`.

    >>> [round(WarmCosine(1.0, 10, 2)(t), 3) for t in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.038]
    """

    value: float
    steps: int
    warmup: int = 0

    def __post_init__(self) -> None:
        require_number(self.value, "value", "WarmCosine", minimum=0)
        require_integer(self.steps, "steps", "WarmCosine", minimum=1)
        require_integer(self.warmup, "warmup", "WarmCosine", minimum=0)

    def __call__(self, step: int) -> float:
        """The rate of this step."""
        if step < self.warmup:
            return self.value * (step + 1) / self.warmup
        share = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.value * (1 + math.cos(math.pi * min(share, 1.0))) / 2


@dataclass(frozen=True)
class Milestones:
    """value, times `factor` at each of the steps in `at`.

    >>> [round(Milestones(0.1, (40,), 0.1)(t), 3) for t in (0, 39, 40)]
    [0.1, 0.1, 0.01]

    Ref: purification, Sec 8.2
    """

    value: float
    at: tuple[int, ...]
    factor: float = 0.1

    def __post_init__(self) -> None:
        require_number(self.value, "value", "Milestones", minimum=0)
        require_number(self.factor, "factor", "Milestones", positive=True)
        for step in self.at:
            require_integer(step, "at", "Milestones", minimum=1)

    def __call__(self, step: int) -> float:
        """The rate of this step."""
        return self.value * self.factor ** sum(step >= reached for reached in self.at)
