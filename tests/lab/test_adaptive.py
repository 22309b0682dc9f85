"""Adaptive seeds: where they go, when they stop, what is said about a config."""

import math

import numpy as np
import pytest
from karat_toys import TOY

from karat.errors import TargetError
from karat.lab.adaptive import Adaptive, Target
from karat.study.experiment import cells
from karat.study.record import Record

TARGET = Target(value="error", level=0.3)


def firsts(count=4):
    return cells(TOY, "tiny", 1, grid={"d": range(1, count + 1)})


def record(cell, value, status="done"):
    values = {"error": value} if status == "done" else {}
    return Record(
        experiment=cell.experiment,
        config=cell.config_json,
        seed=cell.seed,
        status=status,
        values=values,
        error=None,
        cpu_seconds=0.0,
        version="0",
        environment={},
    )


def play(feed, measure, most=1000):
    """Ask for cells and answer them; return those asked for."""
    asked = []
    while (cell := feed()) is not None:
        asked.append(cell)
        feed.add(record(cell, measure(cell)))
        assert len(asked) < most
    return asked


def test_clear_configs_stop_early_and_the_boundary_gets_all_seeds():
    generator = np.random.default_rng(0)
    means = {1: 0.05, 2: 0.3, 3: 0.3, 4: 0.9}
    feed = Adaptive(firsts(), TARGET, seeds=12)
    asked = play(feed, lambda cell: means[cell.config.d] + 0.01 * generator.standard_normal())
    counts = {d: sum(cell.config.d == d for cell in asked) for d in means}
    assert counts[1] < 6
    assert counts[4] < 6
    assert (counts[2], counts[3]) == (12, 12)
    sides = [decision.side for decision in feed.decisions.values()]
    assert sides == ["below", "open", "open", "above"]


def test_every_config_gets_its_first_seed_before_any_gets_its_second():
    asked = play(Adaptive(firsts(), TARGET, seeds=3), lambda cell: 0.3 + 0.1 * cell.seed)
    assert [cell.seed for cell in asked] == [0] * 4 + [1] * 4 + [2] * 4


def test_what_is_known_already_is_not_asked_for_again():
    known = [record(firsts()[0].with_seed(seed), 0.05 + 0.001 * seed) for seed in (0, 1, 3, 4)]
    feed = Adaptive(firsts(), TARGET, seeds=5, known=known)
    assert feed.decisions[known[0].config_hash].side == "below"
    assert feed.left == 15
    assert all(cell.config.d != 1 for cell in play(feed, lambda cell: 0.3 + 0.1 * cell.seed))


def test_nothing_is_decided_before_the_least_number_of_seeds():
    target = Target(value="error", level=0.3, least=5)
    assert len(play(Adaptive(firsts(1), target, seeds=9), lambda cell: 0.9)) == 5


def test_diverged_and_failed_cells_count_as_spent_and_decide_nothing():
    feed = Adaptive(firsts(1), TARGET, seeds=3)
    while (cell := feed()) is not None:
        feed.add(record(cell, 0.0, status="diverged" if cell.seed else "failed"))
    (decision,) = feed.decisions.values()
    assert (decision.side, decision.interval) == ("open", None)


def test_flags_and_bounded_values_have_their_own_intervals():
    cell = firsts(1)[0]
    flags = [record(cell.with_seed(seed), True) for seed in range(12)]
    assert TARGET.decide(flags).side == "above"
    equal = [record(cell.with_seed(seed), 0.1) for seed in range(4)]
    assert TARGET.decide(equal).side == "below"
    assert Target(value="error", level=0.3, assume="bounded").decide(equal).side == "open"


def test_values_that_are_not_finite_leave_a_config_open():
    found = [record(firsts(1)[0].with_seed(seed), math.inf) for seed in range(5)]
    assert TARGET.decide(found).side == "open"


@pytest.mark.parametrize(
    ("target", "value", "message"),
    [
        (Target(value="loss", level=0.3), 0.1, "the records have no number `loss`; they have error."),
        (Target(value="error", level=0.3, assume="bounded"), 1.5, "`error` leaves"),
    ],
)
def test_a_target_the_records_cannot_answer_is_one_line(target, value, message):
    with pytest.raises(TargetError, match=message):
        target.decide([record(firsts(1)[0], value)])


@pytest.mark.parametrize(
    "change", [{"assume": "luck"}, {"least": 0}, {"confidence": 1.0}, {"level": math.nan}]
)
def test_a_senseless_target_is_refused(change):
    with pytest.raises(ValueError, match="must"):
        Target(**{"value": "error", "level": 0.3} | change)
