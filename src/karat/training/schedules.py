"""Numbers that change with the training step: learning rates and radii."""

from dataclasses import dataclass
from typing import Protocol

from karat.core.checks import require_integer, require_number


class Schedule(Protocol):
    """A number for every step 0, 1, 2, ..."""

    def __call__(self, step: int) -> float:
        """The value used at this step."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same value at every step."""

    value: float

    def __post_init__(self) -> None:
        require_number(self.value, "value", "Constant", minimum=0)

    def __call__(self, step: int) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True)
class StepDecay:
    """value * factor^(step // every).

    >>> [StepDecay(0.1, 0.1, 500)(t) for t in (0, 499, 500)]
    [0.1, 0.1, 0.010000000000000002]

    Ref: benign, Sec 5
    """

    value: float
    factor: float
    every: int

    def __post_init__(self) -> None:
        require_number(self.value, "value", "StepDecay", minimum=0)
        require_number(self.factor, "factor", "StepDecay", positive=True)
        require_integer(self.every, "every", "StepDecay", minimum=1)

    def __call__(self, step: int) -> float:
        """The value after its decays."""
        return self.value * self.factor ** (step // self.every)


@dataclass(frozen=True)
class Ramp:
    """From `start` to `value` linearly over `steps` steps, then constant."""

    value: float
    steps: int
    start: float = 0.0

    def __post_init__(self) -> None:
        require_number(self.value, "value", "Ramp", minimum=0)
        require_integer(self.steps, "steps", "Ramp", minimum=1)
        require_number(self.start, "start", "Ramp", minimum=0)

    def __call__(self, step: int) -> float:
        """Linear interpolation."""
        share = min(step / self.steps, 1.0)
        return self.start + share * (self.value - self.start)
