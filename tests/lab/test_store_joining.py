"""Stores of several people become one: every record once, the finished before the failed."""

from dataclasses import replace

import pytest
from karat_toys import TOY

from karat.lab.execute import execute
from karat.lab.store import Store, merge
from karat.lab.store.rescue import rescue
from karat.study.experiment import cells
from karat.study.record import Record


@pytest.fixture(scope="module")
def records():
    return [execute(cell) for cell in cells(TOY, "tiny")]


def fill(path, records):
    with Store(path) as store:
        for record in records:
            store.put(record)
    return path


def test_every_record_is_there_once(tmp_path, records):
    first, second = fill(tmp_path / "a", records[:4]), fill(tmp_path / "b", records[2:])
    with Store(tmp_path / "all") as target:
        merged = merge(target, [first, second])
        assert (merged.taken, merged.known, merged.differing) == (6, 2, 0)
        assert target.records() == sorted(records, key=lambda record: record.key)
        again = merge(target, [first, second])
        assert (again.taken, again.known) == (0, 8)


def test_a_finished_record_takes_the_place_of_a_failed_one(tmp_path, records):
    failed = replace(records[0], status="failed", values={}, error="no memory")
    good, bad = fill(tmp_path / "good", records[:1]), fill(tmp_path / "bad", [failed])
    for order in ([good, bad], [bad, good]):
        with Store(tmp_path / f"all {order[0].name}") as target:
            merge(target, order)
            assert target.records() == records[:1]


def test_results_that_differ_are_both_kept(tmp_path, records):
    other = replace(records[0], values=records[0].values | {"mean": 7.0})
    mine, theirs = fill(tmp_path / "mine", records[:1]), fill(tmp_path / "theirs", [other])
    with Store(mine) as target:
        for _ in range(2):  # a second time adds nothing
            merged = merge(target, [theirs])
            assert (merged.taken, merged.differing) == (0, 1)
        assert target.records() == records[:1]
    lines = merged.aside.read_text().splitlines()
    assert [Record.from_json(line) for line in lines] == [other]


def test_plans_and_benchmarks_come_along(tmp_path, records):
    with Store(tmp_path / "a") as store:
        store.put_sweep("s1", TOY.name, {"name": "s1", "experiment": TOY.name, "hashes": []})
        store.put_benchmark("attacks", {"rows": [1]})
    with Store(tmp_path / "b") as target:
        merge(target, [tmp_path / "a"])
        assert [plan["name"] for plan in target.sweeps()] == ["s1"]
        assert target.benchmarks()["attacks"]["rows"] == [1]


def test_records_that_wait_beside_a_store_come_along_and_stay(tmp_path, records):
    theirs = fill(tmp_path / "theirs", records[:2])
    waiting = rescue(theirs, records[1:4])
    with Store(tmp_path / "mine") as target:
        merged = merge(target, [theirs])
        assert (merged.taken, merged.known) == (4, 1)
        assert target.records() == sorted(records[:4], key=lambda record: record.key)
    assert waiting.exists()
