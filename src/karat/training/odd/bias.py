"""How the shared bias of an odd net grows while it trains: the paper's schedule and a finite-size one."""

import math
from dataclasses import dataclass
from typing import Protocol

from karat.core.checks import require_number


class BiasSchedule(Protocol):
    """The next threshold (the paper's b > 0) after a step of rescaled length h = lr / d."""

    def __call__(self, threshold: float, h: float) -> float:
        """The threshold after the step."""
        ...


@dataclass(frozen=True)
class FrozenBias:
    """The threshold stays: adversarial training.

    Ref: purification, Alg 2
    """

    def __call__(self, threshold: float, h: float) -> float:
        """The same threshold."""
        return threshold


@dataclass(frozen=True, kw_only=True)
class GrowingBias:
    """b grows by speed * lr / d per step until it reaches `stop`: the paper's schedule.

    Args:
        speed: the paper's C, at most a twentieth of a winner's own speed.
        stop: k^-0.5001 in the paper.

    Ref: purification, Alg 1
    """

    speed: float
    stop: float

    def __post_init__(self) -> None:
        require_number(self.speed, "speed", "GrowingBias", positive=True)
        require_number(self.stop, "stop", "GrowingBias", positive=True)

    def __call__(self, threshold: float, h: float) -> float:
        """Linear growth, then constant."""
        return max(threshold, min(threshold + self.speed * h, self.stop))


@dataclass(frozen=True, kw_only=True)
class TwoStageBias:
    """Fast growth up to `turn`, slow growth up to `stop`: what separates winners at finite size.

    The first stage outruns the losers, the second lets small codes |z| ~ 1/sqrt k wake their neurons while
    the loss is still near log 2. With one speed either the losers join in or few winners remain.

    Args:
        fast, slow: speeds per unit of rescaled time.
        turn, stop: thresholds.
    """

    fast: float
    turn: float
    slow: float
    stop: float

    def __post_init__(self) -> None:
        for name in ("fast", "turn", "slow", "stop"):
            require_number(getattr(self, name), name, "TwoStageBias", positive=True)

    def __call__(self, threshold: float, h: float) -> float:
        """One of the two speeds, never past `stop`, never down."""
        speed = self.fast if threshold < self.turn else self.slow
        return max(threshold, min(threshold + speed * h, self.stop))


class NoiseSchedule(Protocol):
    """Standard deviation of the neuron noise at a rescaled time, the sum of all steps h = lr / d so far."""

    def __call__(self, threshold: float, time: float) -> float:
        """sigma_rho."""
        ...


@dataclass(frozen=True, kw_only=True)
class ProportionalNoise:
    """sigma_rho = ratio * b at every time."""

    ratio: float = 0.1

    def __post_init__(self) -> None:
        require_number(self.ratio, "ratio", "ProportionalNoise", minimum=0)

    def __call__(self, threshold: float, time: float) -> float:
        """A fixed share of the threshold."""
        return self.ratio * threshold


@dataclass(frozen=True, kw_only=True)
class ShrinkingNoise:
    """sigma_rho = b L^3 / sqrt(log d) until `first_phase`, b L^3 / log d after, L = log log log d.

    Args:
        d: dimension.
        first_phase: the paper's T_a in rescaled time, 0 for the second phase alone.

    Reading: the paper's Theta(.) is taken as 1; below d = 16, where log log log d <= 0, there is no noise.

    >>> round(ShrinkingNoise(d=200, first_phase=0.06)(1.0, 0), 4)
    0.0581

    Ref: purification, Sec 4.1
    """

    d: int
    first_phase: float

    def __post_init__(self) -> None:
        require_number(self.first_phase, "first_phase", "ShrinkingNoise", minimum=0)

    def __call__(self, threshold: float, time: float) -> float:
        """One of the two shares of the threshold."""
        log_d = math.log(self.d)
        shrink = math.sqrt(log_d) if time < self.first_phase else log_d
        return threshold * triple_log(self.d) ** 3 / shrink


def triple_log(d: float) -> float:
    """log log log d, and 0 where it is negative or undefined (d <= e^e = 15.2).

    >>> triple_log(15), round(triple_log(200), 4)
    (0.0, 0.5113)
    """
    return max(0.0, math.log(math.log(math.log(d)))) if d > math.e else 0.0


@dataclass(frozen=True, kw_only=True)
class RelativeStep:
    """h = min(size, share * b): steps that shrink near initialisation, where weights are as small as b.

    With a fixed step the whole lottery would be drawn in one update.

    Args:
        size: rescaled step lr / d away from the start.
        share: of the threshold; infinite for a fixed step.
    """

    size: float
    share: float = math.inf

    def __post_init__(self) -> None:
        require_number(self.size, "size", "RelativeStep", positive=True)

    def __call__(self, threshold: float) -> float:
        """The rescaled step at this threshold."""
        return min(self.size, self.share * threshold)
