"""Damaged stores: what is wrong is said, what can be read is saved, nothing is thrown away."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from karat.lab.store import Reservations, Store, StoreError, locks, repair, verify
from karat.lab.store.locks import open_lockfile

COUNT = 400


@pytest.fixture
def path(tmp_path, make_record):
    file = tmp_path / "store.sqlite"
    with Store(file) as store:
        store._file.connection.execute("BEGIN")
        for d in range(COUNT // 4):
            for seed in range(4):
                store.put(make_record(d=d, seed=seed, values={"curve": [0.5] * 40}))
        store._file.connection.execute("COMMIT")
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


def test_records_that_have_changed_are_named(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute("SELECT config_hash, seed FROM cells LIMIT 2").fetchall()
        change = "UPDATE cells SET {} WHERE config_hash = ? AND seed = ?"
        connection.execute(change.format("record = '{}'"), rows[0])
        connection.execute(change.format("status = 'failed'"), rows[1])
    problems = verify(path).problems
    assert len(problems) == 2
    assert all("does not match its digest" in text for text in problems)


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
    with locks.alone(path), pytest.raises(StoreError, match="the store is being repaired"):
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


def test_repair_leaves_out_what_does_not_match_its_digest_and_says_so(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE cells SET record = replace(record, '0.5', '0.7') WHERE seed = 1")
    salvage = repair(path)
    assert (salvage.records, len(salvage.left)) == (COUNT * 3 // 4, COUNT // 4)
    assert set(salvage.left.values()) == {"it does not match its digest."}
    with Store(path, read_only=True) as store:
        assert {record.seed for record in store.records()} == {0, 2, 3}
        assert {value for record in store.records() for value in record.values["curve"]} == {0.5}


def test_repair_copies_rows_as_they_are(path):
    """Also the time they were saved."""
    columns = "SELECT * FROM cells ORDER BY experiment, config_hash, seed"
    with closing(sqlite3.connect(path)) as connection, connection:
        before = connection.execute(columns).fetchall()
    repair(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(columns).fetchall() == before


def test_a_store_of_a_newer_karat_is_not_repaired(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE schema SET version = 99")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="written by a newer karat") as caught:
        repair(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} <= {"store.sqlite", "store.sqlite.lock"}


def test_repair_under_a_link_repairs_the_file_itself(path):
    link = path.with_name("link.sqlite")
    link.symlink_to(path.name)
    salvage = repair(link)
    assert link.is_symlink()
    assert salvage.backup == path.with_name("store.sqlite.damaged")
    assert verify(path).records == COUNT


@pytest.mark.parametrize("first_is_link", [True, False])
def test_a_store_in_use_under_one_name_is_not_repaired_under_another(path, first_is_link, monkeypatch):
    link = path.with_name("elsewhere") / "link.sqlite"
    link.parent.mkdir()
    link.symlink_to(path)
    monkeypatch.chdir(path.parent)
    names = [link, Path("store.sqlite")]
    with Store(names[not first_is_link]), pytest.raises(StoreError, match="a running sweep uses the store"):
        repair(names[first_is_link])
    assert verify(path).records == COUNT


def test_locks_are_for_everybody_who_may_write_the_store(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())
    path.chmod(0o660)
    for suffix in (".lock", ".cells"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
        handle = open_lockfile(path, suffix)
        assert handle is not None
        os.close(handle)
        assert path.with_name(path.name + suffix).stat().st_mode & 0o777 == 0o660


def test_a_lock_that_cannot_be_opened_keeps_repair_and_drivers_out(tmp_path, make_record, monkeypatch):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())

    def refuse(file, *rest):
        raise FileExistsError if len(rest) > 1 else PermissionError(13, "no", file)

    monkeypatch.setattr("karat.lab.store.locks.os.open", refuse)
    message = r"its lock store\.sqlite\.lock cannot be opened \(no permission\)\."
    with pytest.raises(StoreError, match=message):
        repair(path)
    with pytest.raises(StoreError, match=message):
        Store(path)
    with pytest.raises(StoreError, match=message.replace("lock c", "cells c")):
        Reservations(path)
