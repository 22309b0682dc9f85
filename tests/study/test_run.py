"""Runs are records with types: filtered, grouped, pivoted."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from karat.study.experiment import Experiment, Preset
from karat.study.run import Runs, by_setting, examples, grouped, pivot, read_runs


@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 10
    tau: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Result:
    loss: float


def measure(config, generator) -> Result:
    raise AssertionError("records are made by hand")


def make_experiment(name="benign.toy", run=measure):
    presets = {"tiny": Preset(config=Config(), seeds=1)}
    return Experiment(name=name, title="?", paper="benign", presets=presets, run=run)


TOY = make_experiment()


def make_records(make_record):
    return [
        make_record(seed, config={"d": d, "tau": 0.5}, loss=d + 0.1 * seed)
        for d in (20, 10)
        for seed in (1, 0)
    ]


def test_runs_carry_config_result_and_seed(make_record):
    runs = read_runs(TOY, make_records(make_record))
    assert runs[0].config == Config(d=20)
    assert runs[0].result == Result(loss=20.1)
    assert [run.seed for run in runs] == [1, 0, 1, 0]


def test_cells_that_did_not_end_well_are_kept_apart(make_record):
    records = [*make_records(make_record), make_record(5, status="diverged", config={"d": 10, "tau": 0.5})]
    runs = read_runs(TOY, records)
    assert (len(runs), [record.seed for record in runs.lost]) == (4, [5])


def test_other_experiments_are_left_out_unless_they_are_asked_for(make_record):
    other = make_experiment("benign.other")
    records = [*make_records(make_record), make_record(0, experiment="benign.other", loss=7.0)]
    runs = read_runs(TOY, records, [other])
    assert len(runs) == 4
    assert [run.result.loss for run in runs.of(other)] == [7.0]
    assert list(runs.of(make_experiment("benign.third"))) == []


def test_groups_keep_the_order_of_their_first_run(make_record):
    runs = read_runs(TOY, make_records(make_record))
    assert list(grouped(runs, lambda run: run.config.d)) == [20, 10]
    assert [[run.config.d for run in group] for group in by_setting(runs)] == [[20, 20], [10, 10]]


def test_a_pivot_has_a_row_per_seed_and_nan_where_nothing_ran(make_record):
    records = make_records(make_record)[:-1]
    x, table = pivot(read_runs(TOY, records), lambda run: run.config.d, lambda run: run.result.loss)
    np.testing.assert_array_equal(x, [10, 20])
    np.testing.assert_array_equal(table, [[math.nan, 20.0], [10.1, 20.1]])


def test_examples_stand_under_several_seeds_and_group_by_setting():
    runs = Runs(examples((Config(d=1), Result(loss=1.0)), (Config(d=2), Result(loss=2.0)), seeds=2))
    assert [run.seed for run in runs] == [0, 1, 0, 1]
    assert len(by_setting(runs)) == 2


def test_a_run_without_a_result_class_is_refused():
    def nameless(config, generator):
        return {"loss": 1.0}

    message = r"`run` of `benign\.toy` must be annotated with the dataclass it returns"
    with pytest.raises(TypeError, match=message):
        _ = make_experiment(run=nameless).result_type
