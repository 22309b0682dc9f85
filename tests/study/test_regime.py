"""The search for a setting inside the hypotheses, on problems whose answer is known."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from karat.core.ranges import Count, Positive, settings
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
    label: str = "plain"


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
    assert set(regime.changed) >= {"m", "steps", "tol"}
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
    assert (regime.cheapest.config, dict(regime.changed)) == (regime.here[0].config, {})


def test_every_setting_of_the_preset_is_looked_at():
    regime = find_regime(make_check(lambda c: [at_least("m >= 5", c.m, 5)], grid={"m": (4, 8, 16)}))
    assert [point.inside for point in regime.here] == [False, True, True]
    assert regime.ledger[0].unmet == 1
    assert regime.cheapest is not None
    assert regime.cheapest.config.m == 5


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
    assert isinstance(regime.here[0].conditions[0], Condition)
