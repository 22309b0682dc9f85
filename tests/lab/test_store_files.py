"""Files that are not stores, folders that cannot be written, disks that are full."""

import sqlite3
from pathlib import Path

import pytest

from karat.lab import Store, StoreError, default_path


def one_line(caught):
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_an_empty_file_becomes_a_store(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    path.touch()
    with Store(path) as store:
        store.put(make_record())
    with Store(path) as store:
        assert store.records() == [make_record()]


def test_an_empty_file_holds_nothing_to_read(tmp_path):
    path = tmp_path / "store.sqlite"
    path.touch()
    with pytest.raises(StoreError, match="an empty file; `karat run` makes a store of it") as caught:
        Store(path, read_only=True)
    one_line(caught)
    assert path.read_bytes() == b""


def test_a_text_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n" * 200)
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert one_line(caught) == f"{path}: not a karat store (not an SQLite file)."
    assert path.read_text() == "my notes\n" * 200


@pytest.mark.slow
def test_a_damaged_store_is_one_line(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        for seed in range(200):
            store.put(make_record(seed=seed))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="not a karat store") as caught, Store(path) as store:
        store.records()
    one_line(caught)


@pytest.mark.parametrize("table", ["songs", "cells"])
def test_a_foreign_sqlite_file_is_refused_and_left_alone(tmp_path, table):
    path = tmp_path / "music.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE {table} (title TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert one_line(caught) == f"{path}: not a karat store (an SQLite file of another program)."
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("version", "reason"), [(99, "written by a newer karat"), (4, "before its first release")]
)
def test_another_schema_is_refused_and_left_alone(tmp_path, version, reason):
    path = tmp_path / "store.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE schema SET version = ?", (version,))
    connection.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=reason) as caught:
            Store(path, read_only=read_only)
        one_line(caught)
    assert path.read_bytes() == before


@pytest.mark.parametrize("folder", ["file/below", "/proc/nothing"])
def test_an_unwritable_folder_is_one_line(tmp_path, folder):
    (tmp_path / "file").touch()
    path = tmp_path / folder / "store.sqlite"
    with pytest.raises(StoreError, match="cannot be made") as caught:
        Store(path)
    assert one_line(caught).startswith(str(path))


def test_a_folder_is_not_a_store(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        Store(tmp_path)
    one_line(caught)


def test_a_store_opened_to_read_cannot_be_written(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    with pytest.raises(StoreError, match="there is no store here yet"):
        Store(path, read_only=True)
    assert not path.exists()
    Store(path).close()
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="cannot be written"):
        store.put(make_record())


def test_a_full_disk_is_one_line_and_keeps_what_is_there(store, make_record):
    store.put(make_record())
    (pages,) = store._file.connection.execute("PRAGMA page_count").fetchone()
    store._file.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="the disk is full") as caught:
        store.put(make_record(seed=1, values={"curve": [0.5] * 20000}))
    one_line(caught)
    assert store.records() == [make_record()]


def test_the_default_store_is_named_by_the_environment(monkeypatch):
    monkeypatch.setenv("KARAT_STORE", "/somewhere/else.sqlite")
    assert default_path() == Path("/somewhere/else.sqlite")
    monkeypatch.delenv("KARAT_STORE")
    assert default_path() == Path(".karat/store.sqlite")


@pytest.mark.slow
def test_records_share_the_pages_of_the_file(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    values = {"curve": [1 / (place + 1) for place in range(40)]}
    with Store(path) as store:
        for seed in range(300):
            store.put(make_record(seed=seed, values=values))
        texts = sum(len(record.to_json()) for record in store.records())
    assert texts / 300 > 800
    assert path.stat().st_size < 2 * texts
