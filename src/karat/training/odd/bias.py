r"""How the shared bias of an odd net grows while it trains, and the noise and the steps that go with it.

The threshold :math:`b > 0` is minus the bias of the net; time is rescaled, a step has the length
:math:`h = \text{lr} / d`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from karat.core.ranges import NonNegative, Positive, checked


class BiasSchedule(Protocol):
    """The next threshold after a step of rescaled length h."""

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
@checked
class GrowingBias:
    r"""The threshold grows by :math:`\text{speed} \cdot h` per step until it reaches `stop`.

    Args:
        speed: C of the theory, at most a twentieth of a winner's own speed.
        stop: :math:`k^{-0.5001}` in the theory.

    Ref: purification, Alg 1
    """

    speed: Positive
    stop: Positive

    def __call__(self, threshold: float, h: float) -> float:
        """Linear growth, then constant."""
        return max(threshold, min(threshold + self.speed * h, self.stop))


@dataclass(frozen=True, kw_only=True)
@checked
class TwoStageBias:
    r"""Fast growth, then slow growth: what separates winners at finite size.

    The first stage outruns the losers, the second lets small codes :math:`|z| \sim 1 / \sqrt k` wake their
    neurons while the loss is still near log 2. With one speed either the losers join in or few winners
    remain.

    Args:
        fast: speed of the first stage, per unit of rescaled time.
        turn: threshold at which the second stage begins.
        slow: speed of the second stage.
        stop: threshold at which the growth ends.
    """

    fast: Positive
    turn: Positive
    slow: Positive
    stop: Positive

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
@checked
class ProportionalNoise:
    r"""Noise in proportion to the threshold, :math:`\sigma_\rho = \text{ratio} \cdot b`, at every time."""

    ratio: NonNegative = 0.1

    def __call__(self, threshold: float, time: float) -> float:
        """A fixed share of the threshold."""
        return self.ratio * threshold


@dataclass(frozen=True, kw_only=True)
@checked
class ShrinkingNoise:
    r"""A share of the threshold that shrinks after the first phase, with :math:`L = \log\log\log d`.

    .. math:: \sigma_\rho = b L^3 / \sqrt{\log d} \;\text{ in the first phase}, \qquad
              \sigma_\rho = b L^3 / \log d \;\text{ after it}

    Args:
        d: dimension.
        first_phase: its end T_a in rescaled time, 0 for the second phase alone.

    Reading: Theta(.) is taken as 1; below d = 16, where L <= 0, there is no noise.

    >>> round(ShrinkingNoise(d=200, first_phase=0.06)(1.0, 0), 4)
    0.0581

    Ref: purification, Sec 4.1
    """

    d: int
    first_phase: NonNegative

    def __call__(self, threshold: float, time: float) -> float:
        """One of the two shares of the threshold."""
        log_d = math.log(self.d)
        shrink = math.sqrt(log_d) if time < self.first_phase else log_d
        return threshold * triple_log(self.d) ** 3 / shrink


def triple_log(d: float) -> float:
    r""":math:`\log\log\log d`, and 0 where it is negative or undefined (:math:`d \le e^e = 15.2`).

    >>> triple_log(15), round(triple_log(200), 4)
    (0.0, 0.5113)
    """
    return max(0.0, math.log(math.log(math.log(d)))) if d > math.e else 0.0


@dataclass(frozen=True, kw_only=True)
@checked
class RelativeStep:
    r"""Steps :math:`h = \min(\text{size}, \text{share} \cdot b)`, shorter where weights are as small as b.

    With a fixed step the whole lottery would be drawn in one update.

    Args:
        size: rescaled step lr / d away from the start.
        share: of the threshold; infinite for a fixed step.
    """

    size: Positive
    share: float = math.inf

    def __call__(self, threshold: float) -> float:
        """The rescaled step at this threshold."""
        return min(self.size, self.share * threshold)


def time_of(
    step: Callable[[float], float], bias: Callable[[float, float], float], threshold: float, steps: int
) -> float:
    """Return the rescaled time of some steps, their sum, if only the schedule moves the threshold.

    Beyond 20,000 steps blocks of a ten-thousandth of the steps so far count as equal steps, so that the time
    of very many steps is known at once, too.

    Args:
        step: threshold -> rescaled step.
        bias: threshold and step -> the next threshold.
        threshold: the first one.
        steps: how many.
    """
    passed, done = 0.0, 0
    while done < steps:
        block = min(max(1, done // 10_000), steps - done)
        h = step(threshold)
        after = bias(threshold, h * block)
        if after == threshold:  # the schedule has come to rest
            return passed + h * (steps - done)
        passed, threshold, done = passed + h * block, after, done + block
    return passed
