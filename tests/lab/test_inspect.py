"""Damaged stores: what is wrong is said, what can be read is saved, nothing is thrown away."""

import sqlite3
from contextlib import closing

import pytest

from karat.lab import Store, StoreError, users
from karat.lab.inspect import repair, verify

COUNT = 400


@pytest.fixture
def path(tmp_path, make_record):
    file = tmp_path / "store.sqlite"
    with Store(file) as store:
        store._connection.execute("BEGIN")
        for d in range(COUNT // 4):
            for seed in range(4):
                store.put(make_record(d=d, seed=seed, values={"curve": [0.5] * 40}))
        store._connection.execute("COMMIT")
    return file


def damage(file, share):
    """Overwrite one page at this share of the file; return it as it was."""
    whole = file.read_bytes()
    start = int(len(whole) * share) // 4096 * 4096
    file.write_bytes(whole[:start] + b"\xa5" * 4096 + whole[start + 4096 :])
    return whole


def test_a_sound_store_is_sound(path):
    health = verify(path)
    assert (health.records, health.problems) == (COUNT, ())


def test_records_in_the_wrong_place_and_unreadable_ones_are_named(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute("SELECT config_hash, seed FROM cells LIMIT 2").fetchall()
        change = "UPDATE cells SET {} WHERE config_hash = ? AND seed = ?"
        connection.execute(change.format("record = '{}'"), rows[0])
        connection.execute(change.format("status = 'failed'"), rows[1])
    problems = verify(path).problems
    assert len(problems) == 2
    assert any("is not a record of karat" in text for text in problems)
    assert any("belongs elsewhere" in text for text in problems)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_repair_saves_what_can_be_read_and_keeps_the_damaged_file(path, share):
    damage(path, share)
    broken = path.read_bytes()
    try:
        assert verify(path).problems
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017, either way of saying it will do
    salvage = repair(path)
    assert salvage.backup.read_bytes() == broken
    health = verify(path)
    assert health.problems == ()
    assert COUNT // 2 < salvage.records == health.records <= COUNT


def test_a_file_without_a_readable_record_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n" * 1000)
    with pytest.raises(StoreError, match="no record can be read; the file is left as it is"):
        repair(path)
    assert path.read_text() == "my notes\n" * 1000
    with pytest.raises(StoreError, match="there is no store here"):
        repair(tmp_path / "nothing")


def test_a_store_in_use_is_not_repaired(path):
    """Not even when the first of two writers has ended."""
    first, second = Store(path), Store(path)
    first.close()
    with second, pytest.raises(StoreError, match="a running sweep uses the store"):
        repair(path)
    assert verify(path).records == COUNT
    assert repair(path).records == COUNT


def test_nobody_writes_into_a_store_under_repair(path):
    with users.alone(path), pytest.raises(StoreError, match="the store is being repaired"):
        Store(path)
    with Store(path, read_only=True) as store:
        assert len(store.records()) == COUNT


def test_repair_keeps_plans_and_benchmarks(path):
    with Store(path) as store:
        store.put_sweep("name", "toy", {"scale": "tiny"})
        store.put_benchmark("attacks", {"rows": []})
        before = store.sweeps(), store.benchmarks()
    repair(path)
    with Store(path, read_only=True) as store:
        assert (store.sweeps(), store.benchmarks()) == before
