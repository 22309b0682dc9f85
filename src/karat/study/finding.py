"""What measurements say about a statement, before its hypotheses and controls are looked at."""

import math
from dataclasses import dataclass
from typing import Literal

from karat.core.bands import Band
from karat.core.statistics import Interval

Outcome = Literal["holds", "fails", "inconclusive", "vacuous"]


@dataclass(frozen=True)
class Unit:
    """What a number counts, and where such numbers lie.

    Args:
        name: a word for it, such as `ratio` or `share of inputs`.
        low: no such number is smaller.
        high: no such number is larger.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf

    def clip(self, interval: Interval) -> Interval:
        """Return the interval without what such a number cannot be.

        Args:
            interval: around a measured number of this unit.
        """
        low, high = (min(max(end, self.low), self.high) for end in (interval.low, interval.high))
        return Interval(low, high, interval.level)


SHARE = Unit("share", 0.0, 1.0)
ERROR = Unit("error rate", 0.0, 1.0)
ACCURACY = Unit("accuracy", 0.0, 1.0)
RATIO = Unit("ratio")
EXPONENT = Unit("exponent")
COSINE = Unit("cosine", -1.0, 1.0)
COUNT = Unit("count", 0.0)
LOSS = Unit("loss", 0.0)
LENGTH = Unit("length", 0.0)


@dataclass(frozen=True)
class Margin:
    """How far a number may lie from the predicted one and still be called the same.

    Args:
        size: in the unit of the number.
        reason: why this much, said before any data is seen.
    """

    size: float
    reason: str

    def __post_init__(self) -> None:
        if not 0 < self.size < math.inf:
            raise ValueError(f"`size` of `Margin` must be a finite number > 0, got {self.size}.")
        if not self.reason:
            raise ValueError("`reason` of `Margin` must say why the margin has this size.")


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A prediction that is a curve, beside the measured one.

    Args:
        x: (g,) increasing.
        predicted: (g,) what the formula says at every x.
        band: what was measured, with ends that hold for all x at once.
    """

    x: tuple[float, ...]
    predicted: tuple[float, ...]
    band: Band


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The outcome of a comparison with everything that led to it; made by `study/judging.py` alone.

    Args:
        outcome: how the comparison ended.
        measured: the number that was compared; of several the one that decided.
        interval: of the measured number, over seeds or draws; None for exact numbers.
        predicted: what the formula says.
        unit: of both numbers.
        leaning: what the point estimate alone says, which is all that a control with one seed can say.
        p_value: probability of an outcome so clear if the truth were the opposite; None if undecided.
        resolution: the deviation that the measurement could have seen, the half-width of its interval.
        seeds_needed: how many seeds would settle it at the present spread; None if settled or hopeless.
        draws_needed: how many times as many draws would settle a share; None likewise.
        notes: sentences that a reader must know beside the numbers.
        trace: the rules that were applied, outermost first.
        curve: all of the curve, where the prediction is one.
    """

    outcome: Outcome
    measured: float | None
    interval: Interval | None
    predicted: float | None
    unit: Unit
    leaning: Outcome = "inconclusive"
    p_value: float | None = None
    resolution: float | None = None
    seeds_needed: int | None = None
    draws_needed: float | None = None
    notes: tuple[str, ...] = ()
    trace: tuple[str, ...] = ()
    curve: Curve | None = None

    @property
    def caveat(self) -> str:
        """The notes as one text."""
        return " ".join(self.notes)

    def __str__(self) -> str:
        """The measured number with its interval.

        >>> ends = Interval(-0.5, -0.3)
        >>> str(Finding(outcome="fails", measured=-0.4, interval=ends, predicted=0.0, unit=RATIO))
        '-0.4 [-0.5, -0.3]'
        """
        if self.measured is None:
            return "unknown"
        text = f"{self.measured:.3g}"
        if self.interval is None or not math.isfinite(self.interval.high):
            return text
        return f"{text} [{self.interval.low:.3g}, {self.interval.high:.3g}]"
