"""The search for a setting inside the hypotheses, on problems whose answer is known."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pytest

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.study.check import Check
from karat.study.experiment import Experiment, Preset
from karat.study.hypothesis import Condition, at_least, at_most, is_so, not_checkable, waived
from karat.study.regime import find_regime


@dataclass(frozen=True, kw_only=True)
@settings
class Config:
    m: Count = 100
    steps: Count = 10
    lr: Positive = 0.1
    tol: Positive = 0.05
    momentum: NonNegative = 0.9
    law: Literal["heavy", "gaussian"] = "heavy"
    rates: tuple[float, ...] = (10.0, 30.0)
    sd: Positive | None = None
    patterns: Count = 10
    d: Count = 10
    label: str = "plain"

    def __post_init__(self) -> None:
        if self.d < self.patterns:
            raise ValueError("`patterns` of `Config` must be at most `d`.")


@dataclass(frozen=True, kw_only=True)
class Result:
    loss: float


def run(config, generator) -> Result:
    raise AssertionError("a regime is searched without running anything")


def make_check(conditions, work=lambda config: float(config.m * config.steps), grid=None):
    presets = {"quick": Preset(config=Config(m=4, steps=4), grid=grid or {}, seeds=1, cell_seconds=2.0)}
    experiment = Experiment(name="toy.x", title="?", paper="toy", presets=presets, run=run, work=work)
    return Check(
        claim_id="toy.thm1", experiment=experiment, evaluate=lambda runs: None, conditions=conditions
    )


def wide(config):
    """Width and steps that grow as the target loss and the rate fall."""
    return [
        at_least("m >= 1/tol^2", config.m, config.tol**-2),
        at_least("steps >= sqrt(m)/lr", config.steps, config.m**0.5 / config.lr),
        at_most("lr <= tol", config.lr, config.tol),
        at_most("tol <= 0.2", config.tol, 0.2),
    ]


def test_the_cheapest_setting_is_found():
    regime = find_regime(make_check(wide))
    # By hand: tol = lr = 0.2, m = 25, steps = 5/0.2 = 25.
    assert not regime.inside
    assert regime.cheapest is not None
    assert regime.cheapest.seconds == pytest.approx(2.0 * 25 * 25 / 16, rel=0.1)
    assert set(regime.changes) >= {"m", "steps", "tol"}
    assert {condition.name for condition in regime.cheapest.binding} >= {"m >= 1/tol^2", "tol <= 0.2"}


def test_what_the_user_fixes_stays():
    regime = find_regime(make_check(wide), settings={"tol": 0.05})
    assert regime.cheapest is not None
    assert regime.cheapest.config.tol == 0.05
    # m = 400, lr = 0.05, steps = 20/0.05.
    assert regime.cheapest.seconds == pytest.approx(2.0 * 400 * 400 / 16, rel=0.1)


def test_hypotheses_that_contradict_each_other_have_no_setting():
    def impossible(config):
        return [at_least("m >= 1000", config.m, 1000), at_most("m <= 10", config.m, 10)]

    assert find_regime(make_check(impossible)).cheapest is None
    assert find_regime(make_check(lambda config: [is_so("flips are independent", False)])).cheapest is None


def test_waived_and_uncheckable_hypotheses_do_not_stand_in_the_way():
    def mild(config):
        return [waived("GD", "p. 4"), not_checkable("C is large", "unknown"), at_least("m >= 5", config.m, 5)]

    regime = find_regime(make_check(mild))
    assert not regime.inside
    assert regime.cheapest is not None
    assert regime.cheapest.config.m == 5


def test_a_preset_inside_is_its_own_answer_and_not_shrunk():
    regime = find_regime(make_check(lambda config: [at_most("m <= 10", config.m, 10)]))
    assert regime.cheapest is not None
    assert (regime.cheapest.config, dict(regime.changes)) == (regime.here[0].config, {})


def test_every_setting_of_the_preset_is_looked_at():
    regime = find_regime(make_check(lambda c: [at_least("m >= 5", c.m, 5)], grid={"m": (4, 8, 16)}))
    assert [point.inside for point in regime.here] == [False, True, True]
    assert regime.ledger[0].unmet == 1
    assert regime.cheapest is not None
    # Settings of the preset are not shrunk, and the command fixes what the grid would vary.
    assert regime.cheapest.config.m == 8
    assert regime.texts == ["m=8"]


def test_choices_zeros_tuples_and_none_are_searched():
    def hidden(config):
        return [
            is_so("gaussian clusters", config.law == "gaussian"),
            is_so("no momentum", config.momentum == 0),
            at_most("rates <= 0.01", max(config.rates), 0.01),
            is_so("a start of one's own", config.sd is not None),
        ]

    regime = find_regime(make_check(hidden))
    assert regime.cheapest is not None
    config = regime.cheapest.config
    assert (config.law, config.momentum, config.sd is None) == ("gaussian", 0.0, False)
    assert max(config.rates) <= 0.01


def test_a_size_that_no_hypothesis_names_keeps_pace():
    regime = find_regime(make_check(lambda c: [at_least("patterns >= 5000", c.patterns, 5000)]))
    assert regime.cheapest is not None
    assert regime.cheapest.config.patterns == 5000
    assert 5000 <= regime.cheapest.config.d <= 5100


def test_hypotheses_that_hold_far_out_alone_are_met_there():
    """A logarithm that sizes overtake only when all of them have grown a lot, see features.lem6."""

    def slow(config):
        return [
            at_least("m >= log^2(patterns steps)", config.m, math.log(config.patterns * config.steps) ** 2),
            at_least("patterns >= 2 m^2", config.patterns, 2 * config.m**2),
            at_least("steps >= m", config.steps, config.m),
        ]

    regime = find_regime(make_check(slow))
    assert regime.cheapest is not None


def test_zero_is_not_proposed_where_no_hypothesis_asks_for_it():
    regime = find_regime(make_check(lambda c: [at_least("m >= 100 + momentum", c.m, 100 + c.momentum)]))
    assert regime.cheapest is not None
    assert regime.cheapest.config.momentum == 0.9


def test_promises_stay_promises():
    regime = find_regime(make_check(lambda c: [at_least("m >= 1/tol^2", c.m, c.tol**-2)]))
    assert regime.cheapest is not None
    assert regime.cheapest.config.tol <= 0.25


def test_a_budget_makes_experiments_smaller_than_their_preset():
    check = make_check(lambda c: [at_least("m >= 1000", c.m, 1000), at_least("steps >= 2", c.steps, 2)])
    generous, poor = find_regime(check, budget=1e6), find_regime(check, budget=1.0)
    assert generous.cheapest is not None
    assert poor.cheapest is not None
    assert (generous.cheapest.config.steps, poor.cheapest.config.steps) == (4, 2)


def test_the_command_plans_the_setting_that_was_found():
    regime = find_regime(make_check(wide, grid={"label": ("plain", "odd")}))
    assert regime.cheapest is not None
    (cell,) = regime.planned()
    assert cell.config == regime.cheapest.config
    assert regime.command.startswith("karat check toy.thm1 --scale quick --set ")


def test_the_size_asked_for_is_the_edge():
    check = make_check(wide)
    regime = find_regime(check)
    by_setting = {size.setting: size for size in regime.sizes}
    m, lr = by_setting["m"], by_setting["lr"]
    assert (str(m), m.side, m.now) == ("m >= 400 at tol = 0.05", ">=", 4)
    assert lr.side == "<="
    config = regime.here[0].config
    assert [wide(replace(config, m=value))[0].status for value in (399, 400)] == ["unmet", "met"]
    assert [wide(replace(config, lr=lr.value * factor))[2].status for factor in (1.001, 1)] == [
        "unmet",
        "met",
    ]


def test_a_hypothesis_that_no_single_number_meets_asks_for_no_size():
    assert find_regime(make_check(lambda c: [is_so("flips are independent", False)])).sizes == ()


def test_what_is_asked_must_exist():
    with pytest.raises(ValueError, match="has no setting `width`; its settings are m, steps"):
        find_regime(make_check(wide), settings={"width": 3})
    with pytest.raises(ValueError, match=r"`m` of `toy\.x` must be a whole number >= 1, got 0"):
        find_regime(make_check(wide), settings={"m": "0"})
    with pytest.raises(ValueError, match=r"`toy\.thm1` has no scale `huge`"):
        find_regime(make_check(wide), "huge")


def test_hypotheses_that_raise_are_told_at_the_preset_and_left_alone_elsewhere():
    def broken(config):
        raise TypeError("no width")

    with pytest.raises(ValueError, match=r"`toy\.thm1` cannot be computed \(TypeError: no width"):
        find_regime(make_check(broken))

    def narrow(config):
        return [at_least("m >= 50", config.m, 50), at_least("sqrt(70 - m) >= 0", math.sqrt(70 - config.m), 0)]

    regime = find_regime(make_check(narrow))
    assert regime.cheapest.config.m == 50
    assert {size.value for size in regime.sizes} <= {50}


@pytest.mark.slow
def test_random_search_finds_nothing_cheaper():
    check, generator = make_check(wide), np.random.default_rng(5)
    cheapest = find_regime(check).cheapest
    assert cheapest is not None
    for _ in range(100_000):
        factors = 10 ** generator.uniform(-3, 3, 4)
        config = replace(
            Config(),
            m=max(1, round(100 * factors[0])),
            steps=max(1, round(10 * factors[1])),
            lr=0.1 * factors[2],
            tol=0.05 * factors[3],
        )
        inside = all(condition.status == "met" for condition in wide(config))
        assert not inside or 2.0 * config.m * config.steps / 16 >= 0.97 * cheapest.seconds


def test_without_a_law_cost_grows_with_all_whole_numbers():
    regime = find_regime(make_check(wide, work=None))
    assert regime.here[0].seconds == 2.0
    assert regime.cheapest is not None
    assert isinstance(regime.here[0].conditions[0], Condition)
