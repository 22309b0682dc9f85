"""Stores of every earlier layout are brought up to date, and a copy of them is kept."""

import sqlite3
from contextlib import closing

import pytest

from karat.lab import Store, StoreError, schema
from karat.lab.inspect import repair, verify


def store_of_version(path, version, record):
    """A store as karat wrote it when the layout had this version."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in schema.MIGRATIONS[:version]:
            connection.executescript(step)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute("UPDATE schema SET version = ?", (version,))
        row = (*record.key, record.status, record.version, record.cpu_seconds, record.to_json())
        connection.execute(
            "INSERT INTO cells (experiment, config_hash, seed, status, version, cpu_seconds, record) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_every_earlier_version_becomes_the_present_one_and_is_copied_aside(tmp_path, make_record, version):
    path = tmp_path / "store.sqlite"
    store_of_version(path, version, make_record())
    with Store(path) as store:
        assert schema.check(store._file.connection) == schema.VERSION
        assert store.records() == [make_record()]
        assert store.sweeps() == []
        store.put(make_record(seed=1))
    with closing(sqlite3.connect(tmp_path / f"store.sqlite.v{version}.bak")) as copy:
        assert schema.check(copy) == version
        assert copy.execute("SELECT COUNT(*) FROM cells").fetchone() == (1,)


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_every_earlier_version_is_read_as_it_is(tmp_path, make_record, version):
    path = tmp_path / "store.sqlite"
    store_of_version(path, version, make_record())
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        assert store.records() == [make_record()]
        assert [row.done for row in store.summary()] == [1]
        assert (store.sweeps(), store.benchmarks(), store.damaged) == ([], {}, {})
    health = verify(path)
    assert (health.schema, health.records, health.without_digest, health.problems) == (version, 1, 1, ())
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["store.sqlite"]


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_a_damaged_store_of_an_earlier_version_is_repaired(tmp_path, make_record, version):
    path = tmp_path / "store.sqlite"
    store_of_version(path, version, make_record())
    assert repair(path).records == 1
    health = verify(path)
    assert (health.schema, health.records, health.without_digest) == (schema.VERSION, 1, 1)


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_each_step_leads_to_the_next_version(tmp_path, make_record, version, monkeypatch):
    path = tmp_path / "store.sqlite"
    store_of_version(path, version, make_record())
    monkeypatch.setattr(schema, "VERSION", version + 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        schema.upgrade(connection)
        assert schema.check(connection) == version + 1
        assert connection.execute("SELECT record FROM cells").fetchall() == [(make_record().to_json(),)]


def test_layouts_made_in_one_go_and_step_by_step_are_the_same(tmp_path, make_record):
    layouts = []
    for name, version in (("new", 0), ("old", 1)):
        path = tmp_path / name
        if version:
            store_of_version(path, version, make_record())
        with Store(path) as store:
            query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
            layouts.append(store._file.connection.execute(query).fetchall())
    assert layouts[0] == layouts[1]


def test_a_step_that_fails_leaves_the_store_as_it_was(tmp_path, make_record, monkeypatch):
    path = tmp_path / "store.sqlite"
    store_of_version(path, 1, make_record())
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS[:2], "CREATE NONSENSE"))
    with pytest.raises(StoreError):
        Store(path)
    with closing(sqlite3.connect(path)) as connection:
        assert schema.check(connection) == 1
        assert connection.execute("SELECT COUNT(*) FROM cells").fetchone() == (1,)


def test_no_backup_replaces_another(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    for _ in range(2):
        path.unlink(missing_ok=True)
        store_of_version(path, 1, make_record())
        Store(path).close()
    assert {p.name for p in tmp_path.glob("*.bak*")} == {"store.sqlite.v1.bak", "store.sqlite.v1.bak.2"}
