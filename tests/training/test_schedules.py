import math

import pytest

from karat.training import Constant, Ramp, StepDecay


def test_a_constant_is_the_same_at_every_step():
    assert {Constant(0.3)(t) for t in (0, 1, 10**6)} == {0.3}


def test_step_decay_multiplies_after_every_period():
    schedule = StepDecay(2.0, 0.5, 3)
    assert [schedule(t) for t in range(8)] == [2, 2, 2, 1, 1, 1, 0.5, 0.5]


def test_a_ramp_rises_linearly_and_then_stays():
    schedule = Ramp(1.0, 4)
    assert [schedule(t) for t in range(7)] == [0, 0.25, 0.5, 0.75, 1, 1, 1]
    assert schedule(10**9) == 1.0


def test_a_ramp_may_fall():
    assert [Ramp(0.0, 2, start=1.0)(t) for t in range(4)] == [1, 0.5, 0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(-1.0), r"`value` of `Constant` must be a finite number >= 0, got -1.0"),
        (lambda: Constant(math.nan), r"`value` of `Constant` must be a finite number >= 0, got nan"),
        (lambda: StepDecay(1.0, 0.0, 3), r"`factor` of `StepDecay` must be a finite number > 0, got 0.0"),
        (lambda: StepDecay(1.0, 0.1, 0), r"`every` of `StepDecay` must be a whole number >= 1, got 0"),
        (lambda: Ramp(1.0, 0), r"`steps` of `Ramp` must be a whole number >= 1, got 0"),
        (lambda: Ramp(1.0, 2, start=-1.0), r"`start` of `Ramp` must be a finite number >= 0, got -1.0"),
    ],
)
def test_wrong_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
