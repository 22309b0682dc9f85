"""Numbers that change with the training step: learning rates and radii."""

from dataclasses import dataclass
from typing import Protocol

from karat.core.ranges import Count, NonNegative, Positive, checked


class Schedule(Protocol):
    """A number for every step 0, 1, 2, ..."""

    def __call__(self, step: int) -> float:
        """The value used at this step."""
        ...


@dataclass(frozen=True)
@checked
class Constant:
    """The same value at every step."""

    value: NonNegative

    def __call__(self, step: int) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True)
@checked
class StepDecay:
    r"""A value that is multiplied by a factor every so many steps.

    .. math:: \text{value} \cdot \text{factor}^{\lfloor \text{step} / \text{every} \rfloor}

    Args:
        value: at step 0.
        factor: of each change.
        every: steps between changes.

    >>> [StepDecay(0.1, 0.1, 500)(t) for t in (0, 499, 500)]
    [0.1, 0.1, 0.010000000000000002]

    Ref: benign, Sec 5
    """

    value: NonNegative
    factor: Positive
    every: Count

    def __call__(self, step: int) -> float:
        """The value after its decays."""
        return self.value * self.factor ** (step // self.every)


@dataclass(frozen=True)
@checked
class Ramp:
    """From a start to a value linearly, then constant.

    Args:
        value: at the end.
        steps: of the way.
        start: at step 0.
    """

    value: NonNegative
    steps: Count
    start: NonNegative = 0.0

    def __call__(self, step: int) -> float:
        """Linear interpolation."""
        share = min(step / self.steps, 1.0)
        return self.start + share * (self.value - self.start)
