import csv
import io
import json
import subprocess
import sys

import pytest
from karat_toys import TOY

from karat.lab import Store, write_csv, write_jsonl
from karat.lab.execute import execute
from karat.study.experiment import cells
from karat.study.record import Record

TWO_WRITERS = """
import sys
from karat.study.record import Record
from karat.lab import Store
path, writer = sys.argv[1], int(sys.argv[2])
with Store(path) as store:
    for seed in range(40):
        # Half of the cells belong to both writers.
        experiment = "both" if seed % 2 else f"writer {writer}"
        store.put(Record(experiment=experiment, config={}, seed=seed, status="done", values={"value": seed},
                         error=None, cpu_seconds=0.0, version="0", environment={}))
"""


def test_what_is_put_is_there_for_another_process_at_once(tmp_path, make_record):
    path = tmp_path / "deep" / "folder" / "store.sqlite"
    with Store(path) as writer:
        writer.put(make_record())
        with Store(path, read_only=True) as reader:
            assert reader.records() == [make_record()]


def test_a_cell_has_one_row(store, make_record):
    store.put(make_record(values={"mean": 1.0}))
    store.put(make_record(values={"mean": 2.0}))
    assert [record.values for record in store.records()] == [{"mean": 2.0}]


@pytest.mark.parametrize("status", ["done", "diverged"])
def test_a_failure_never_replaces_a_result(store, make_record, status):
    store.put(make_record(status=status))
    store.put(make_record(status="failed", error="late"))
    assert [record.status for record in store.records()] == [status]


def test_a_result_replaces_a_failure(store, make_record):
    store.put(make_record(status="failed", error="early"))
    store.put(make_record())
    assert [record.status for record in store.records()] == ["done"]


def test_missing_cells_are_those_without_a_result_whatever_the_version(store):
    found = cells(TOY, "tiny")
    for cell, change in zip(
        found, [{}, {"status": "diverged"}, {"status": "failed"}, {"version": "0.0.1"}], strict=False
    ):
        record = execute(cell)
        store.put(Record(**{name: getattr(record, name) for name in Record.__dataclass_fields__} | change))
    assert store.missing(found + found) == [found[2], *found[4:]]


def test_records_come_in_one_order_whatever_the_order_of_writing(tmp_path, make_record):
    records = [
        make_record(experiment=name, seed=seed, d=d) for name in "ab" for seed in (0, 1) for d in (1, 2)
    ]
    texts = []
    for name, ordered in (("forth", records), ("back", records[::-1])):
        with Store(tmp_path / name) as store:
            for record in ordered:
                store.put(record)
            texts.append([record.to_json() for record in store.records()])
    assert texts[0] == texts[1]


def test_records_are_selected_and_removed_by_experiment_hash_and_status(store, make_record):
    kept = make_record(experiment="a")
    store.put(kept)
    store.put(make_record(experiment="a", seed=1, status="failed", error="x"))
    store.put(make_record(experiment="b", d=2))
    assert store.records("a", status="done") == [kept]
    assert [record.experiment for record in store.records(hashes={make_record("b", d=2).config_hash})] == [
        "b"
    ]
    assert store.remove(status="failed") == 1
    assert store.remove("b") == 1
    assert store.records() == [kept]


def test_summary_counts_by_experiment(store, make_record):
    store.put(make_record(experiment="b", seconds=1.0))
    store.put(make_record(experiment="a", seconds=1.5))
    store.put(make_record(experiment="a", seed=1, status="diverged", seconds=2.0))
    store.put(make_record(experiment="a", seed=2, status="failed", seconds=0.5))
    first, second = store.summary()
    assert (first.experiment, first.done, first.diverged, first.failed, first.cpu_seconds) == (
        "a",
        1,
        1,
        1,
        4.0,
    )
    assert (second.experiment, second.done) == ("b", 1)


@pytest.mark.slow
def test_two_processes_write_at_once_without_losing_a_record(tmp_path):
    path = tmp_path / "store.sqlite"
    writers = [
        subprocess.Popen([sys.executable, "-c", TWO_WRITERS, str(path), str(writer)]) for writer in (1, 2)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with Store(path) as store:
        counts = {row.experiment: row.done for row in store.summary()}
    assert counts == {"both": 20, "writer 1": 20, "writer 2": 20}


def test_exports_hold_every_record(make_record):
    records = [
        make_record(values={"mean": 0.5, "curve": [1.0, float("inf")]}),
        make_record(seed=1, status="failed", values={}, error="a, b"),
    ]
    lines, table = io.StringIO(), io.StringIO()
    write_jsonl(records, lines)
    assert [Record.from_json(line).to_json() for line in lines.getvalue().splitlines()] == [
        record.to_json() for record in records
    ]
    write_csv(records, table)
    first, second = csv.DictReader(io.StringIO(table.getvalue()))
    assert (first["seed"], first["config.d"], first["values.mean"]) == ("0", "1", "0.5")
    assert json.loads(first["values.curve"]) == [1.0, "inf"]
    assert (second["status"], second["error"], second["values.mean"]) == ("failed", "a, b", "")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@SUM(A1)", "\t=1"])
def test_no_cell_of_a_csv_file_is_a_formula(make_record, text):
    table = io.StringIO(newline="")
    write_csv([make_record(experiment=text, config={"name": text}, status="failed", error=text)], table)
    (row,) = csv.DictReader(io.StringIO(table.getvalue(), newline=""))
    assert [row["experiment"], row["config.name"], row["error"]] == [f"'{text}"] * 3


def test_numbers_of_a_csv_file_stay_numbers(make_record):
    table = io.StringIO()
    write_csv([make_record(values={"low": -1.5, "least": float("-inf")})], table)
    (row,) = csv.DictReader(io.StringIO(table.getvalue()))
    assert [float(row["values.low"]), float(row["values.least"])] == [-1.5, float("-inf")]
