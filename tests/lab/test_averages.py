import math

from karat.core.statistics import clopper_pearson, t_interval
from karat.lab.averages import average_seeds


def test_scalars_are_averaged_over_seeds_with_their_interval(make_record):
    numbers, flags = [0.1, 0.2, 0.4], [True, True, False]
    records = [
        make_record(seed=seed, values={"error": number, "ok": flag, "curve": [1.0], "name": "x"})
        for seed, (number, flag) in enumerate(zip(numbers, flags, strict=True))
    ]
    (group,) = average_seeds(records)
    assert list(group.averages) == ["error", "ok"]
    error, ok = group.averages.values()
    assert math.isclose(error.mean, sum(numbers) / 3)
    assert error.interval == t_interval(numbers)
    assert ok.interval == clopper_pearson(2, 3)
    assert error.seeds == 3


def test_groups_are_told_apart_by_the_settings_that_vary(make_record):
    records = [make_record(d=d, seed=seed) for d in (5, 1) for seed in (0, 1)]
    assert [group.varied for group in average_seeds(records)] == [{"d": 5}, {"d": 1}]
    assert [group.varied for group in average_seeds(records[:2])] == [{}]


def test_cells_without_a_result_are_counted_and_left_out(make_record):
    records = [
        make_record(),
        make_record(seed=1, status="failed", values={}),
        make_record(seed=2, status="diverged"),
    ]
    (group,) = average_seeds(records)
    assert group.statuses == {"done": 1, "failed": 1, "diverged": 1}
    assert group.averages["mean"].seeds == 1


def test_one_seed_or_an_infinite_value_has_no_interval(make_record):
    single = average_seeds([make_record()])[0].averages["mean"]
    infinite = average_seeds([make_record(seed=s, values={"mean": math.inf}) for s in (0, 1)])[0].averages[
        "mean"
    ]
    assert (single.mean, single.interval) == (0.25, None)
    assert (infinite.mean, infinite.interval) == (math.inf, None)


def test_nothing_gives_nothing():
    assert average_seeds([]) == []
