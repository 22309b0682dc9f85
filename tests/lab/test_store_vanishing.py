"""A store that is deleted or replaced while it is used, and records kept beside a store."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from karat_toys import TOY

from karat.lab import Store, StoreError
from karat.study.experiment import cells


def delete(path):
    for file in path.parent.glob("store.sqlite*"):
        file.unlink()


def delete_only_the_file(path):
    path.unlink()


def delete_folder(path):
    shutil.rmtree(path.parent)


def replace_by_a_store(path):
    other = path.with_name("other.sqlite")
    Store(other).close()
    delete(path)
    other.rename(path)


def move(path):
    path.rename(path.with_name("moved.sqlite"))


VANISHING = [delete, delete_only_the_file, delete_folder, replace_by_a_store, move]


@pytest.mark.parametrize("vanish", VANISHING)
def test_records_of_a_vanished_store_are_kept_and_taken_in_by_the_next_writer(tmp_path, make_record, vanish):
    path = tmp_path / "folder" / "store.sqlite"
    with Store(path) as store:
        for seed in range(5):
            store.put(make_record(seed=seed))
        vanish(path)
        with pytest.raises(StoreError) as caught:
            store.put(make_record(seed=5))
    message = str(caught.value)
    assert message.startswith(
        f"{path}: the store was deleted or replaced while in use. All 6 records are kept"
    )
    assert "\n" not in message
    with Store(path) as store:
        assert [record.seed for record in store.records()] == [0, 1, 2, 3, 4, 5]
    assert list(path.parent.glob("*.rescued*")) == []


def test_a_store_moved_over_one_in_use_keeps_its_own_records(tmp_path, make_record):
    path, other = tmp_path / "store.sqlite", tmp_path / "other.sqlite"
    with Store(other) as store:
        for seed in range(100, 150):
            store.put(make_record(seed=seed))
    with Store(path) as store:
        for seed in range(5):
            store.put(make_record(seed=seed))
        other.rename(path)  # the journal of the old file stays under this name
        with pytest.raises(StoreError, match="All 6 records are kept"):
            store.put(make_record(seed=5))
    with Store(path, read_only=True) as store:
        assert [record.seed for record in store.records()] == list(range(100, 150))
    with Store(path) as store:
        assert [record.seed for record in store.records()] == [*range(6), *range(100, 150)]


def test_a_store_that_vanishes_while_a_record_is_written_is_noticed(tmp_path, make_record, monkeypatch):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())
        store._file.connection.set_trace_callback(lambda statement: path.unlink(missing_ok=True))
        with pytest.raises(StoreError, match="All 2 records are kept"):
            store.put(make_record(seed=1))
    with Store(path) as store:
        assert [record.seed for record in store.records()] == [0, 1]


def test_the_replacement_is_not_written_by_the_driver_of_the_old_file(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())
        delete_only_the_file(path)
        with Store(path) as other:
            other.put(make_record("other"))
            with pytest.raises(StoreError, match="deleted or replaced"):
                store.put(make_record(seed=1))
            assert [record.experiment for record in other.records()] == ["other"]
    with Store(path) as store:
        assert [(record.experiment, record.seed) for record in store.records()] == [
            ("other", 0),
            ("toy", 0),
            ("toy", 1),
        ]


@pytest.mark.slow
def test_a_sweep_whose_store_is_deleted_says_so_and_resumes_without_loss(tmp_path):
    path, log = tmp_path / "store.sqlite", tmp_path / "log"
    settings = ["--scale", "tiny", "--seeds", "10", "--workers", "1", "--store", str(path)]
    command = [sys.executable, "-m", "karat.cli", "run", TOY.name, *settings]
    command += ["--set", f"log={log}", "--set", "pause=0.1"]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    }
    driver = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 180
    while not (log.exists() and len(log.read_text().splitlines()) >= 5) and time.monotonic() < deadline:
        time.sleep(0.02)
    path.unlink()
    _, said = driver.communicate(timeout=180)
    assert driver.returncode == 1
    assert f"karat: {path}: the store was deleted or replaced while in use." in said
    assert "Traceback" not in said
    begun = len(log.read_text().splitlines())
    wanted = cells(TOY, "tiny", 10, {"log": str(log), "pause": 0.1})
    with Store(path) as store:
        kept = len(store.records())
        assert begun - 1 <= kept  # the worker has begun the next cell while its driver saved
        assert len(store.missing(wanted)) == 30 - kept


@pytest.mark.parametrize("name", ["x[1].sqlite", "a*b?.sqlite", "[.sqlite"])
def test_rescued_records_are_found_beside_a_store_of_any_name(tmp_path, make_record, name):
    path = tmp_path / name
    with Store(path) as store:
        path.unlink()
        with pytest.raises(StoreError, match="The last record is kept"):
            store.put(make_record())
    with Store(path) as store:
        assert store.records() == [make_record()]


def test_odd_lines_among_rescued_records_are_skipped(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    odd = ["[" * 100000, '{"a":1}', make_record().to_json().replace('"seed":0', f'"seed":{10**30}')]
    odd += [make_record().to_json().replace('"cpu_seconds":0.5', '"cpu_seconds":NaN')]
    path.with_name("store.sqlite.rescued-1.jsonl").write_text("\n".join([*odd, make_record().to_json()]))
    with Store(path) as store:
        assert store.records() == [make_record()]


def test_a_relative_path_means_the_same_file_after_a_change_of_folder(tmp_path, make_record, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Store("store.sqlite") as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.put(make_record())
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with Store(tmp_path / "store.sqlite") as store:
        assert store.records() == [make_record()]
