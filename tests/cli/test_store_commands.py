import csv
import io
import json
import sqlite3
from contextlib import closing

import pytest
from karat_toys import TOY

RUN = ("run", TOY.name, "--scale", "tiny", "--workers", "0")


def test_ls_counts_what_is_stored(karat, tmp_path):
    karat(*RUN, "--set", "mode=raise")
    (row,) = karat("store", "ls", "--json").json["experiments"]
    assert (row["experiment"], row["done"], row["failed"]) == (TOY.name, 4, 2)
    assert karat("store", "ls").out.splitlines()[1].startswith(f"{TOY.name}\t4\t0\t2\t")


def test_rm_removes_what_is_named(karat):
    karat(*RUN, "--set", "mode=raise")
    assert karat("store", "rm", "--status", "failed", "--json").json == {"removed": 2}
    assert karat("store", "rm", TOY.name, "--json").json == {"removed": 4}
    assert karat("store", "rm", "--all", "--json").json == {"removed": 0}


def test_export_writes_csv_and_json_lines(karat, tmp_path):
    karat(*RUN)
    rows = list(csv.DictReader(io.StringIO(karat("store", "export").out)))
    lines = karat("store", "export", TOY.name, "--format", "jsonl").out.splitlines()
    assert len(rows) == len(lines) == 6
    assert [float(row["values.mean"]) for row in rows] == [
        json.loads(line)["values"]["mean"] for line in lines
    ]
    assert karat("store", "export", "--out", tmp_path / "records.csv").out == ""
    assert len((tmp_path / "records.csv").read_text().splitlines()) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "--store", "nowhere.sqlite"], "nowhere.sqlite: there is no store here yet"),
        (["rm"], "name an experiment, a --status, or say --all."),
        (["rm", "nobody"], "the store holds no records of `nobody`; it holds karat_toys:TOY."),
        (
            ["rm", "--status", "lost"],
            "Invalid value for '--status': 'lost' is not one of 'done', 'diverged', 'failed'.",
        ),
        (
            ["export", "--out", "records.xlsx"],
            "`records.xlsx` does not end in .csv, .jsonl or",
        ),
        (
            ["export", "--format", "xls"],
            "Invalid value for '--format': 'xls' is not one of 'csv', 'jsonl', 'parquet'.",
        ),
        (["export", "--out", "nowhere/records.csv"], "nowhere/records.csv: No such file or directory."),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(karat, arguments, message, tmp_path):
    karat(*RUN, "--seeds", "1", "--set", "d=1")
    outcome = karat("store", *arguments)
    assert outcome.code == 2
    assert outcome.complaint().startswith(message)
    assert not (tmp_path / "nowhere.sqlite").exists()


@pytest.mark.slow
def test_report_reads_the_store_and_needs_one(karat, tmp_path):
    assert karat("report").code == 2
    karat(*RUN, "--seeds", "1", "--set", "d=1")
    outcome = karat("report", "--out", "pages", "--json")
    assert outcome.code == 0
    assert (tmp_path / outcome.json["report"]).exists()


def test_verify_counts_and_names_what_is_wrong(karat, tmp_path):
    karat(*RUN)
    found = karat("store", "verify", "--json").json
    assert found == {"schema": 5, "records": 6, "problems": []}
    assert "sound" in karat("store", "verify").out
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE cells SET record = '{}' WHERE seed = 0")
    outcome = karat("store", "verify")
    assert outcome.code == 1
    assert "the store is not sound: karat_toys:TOY" in outcome.err


def test_repair_keeps_the_damaged_file(karat, tmp_path):
    karat(*RUN)
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE cells SET record = '{}' WHERE seed = 0")
    found = karat("store", "repair", "--json").json
    assert found["records"] == 3
    assert (tmp_path / "store.sqlite.damaged").exists()
    assert karat("store", "verify").code == 0
    assert karat(*RUN, "--json").code == 0


def test_parquet_holds_typed_columns(karat, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra `parquet`)")
    karat(*RUN, "--set", "mode=raise")
    assert karat("store", "export", "--format", "parquet").complaint().startswith("`--format parquet` needs")
    assert karat("store", "export", "--out", "records.parquet").code == 0
    rows = parquet.read_table(tmp_path / "records.parquet").to_pylist()
    lines = [json.loads(line) for line in karat("store", "export", "--format", "jsonl").out.splitlines()]
    assert [row["seed"] for row in rows] == [line["seed"] for line in lines]
    assert [row["values.mean"] for row in rows] == [line["values"].get("mean") for line in lines]
    assert [row["values.curve"] for row in rows] == [line["values"].get("curve") for line in lines]
    assert {type(row["config.d"]) for row in rows} == {int}


def test_a_changed_number_is_left_out_everywhere_and_computed_again(karat, tmp_path):
    karat(*RUN)
    sound = karat("store", "export").out
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute(
            "UPDATE cells SET record = replace(record, '\"mean\":', '\"mean\":1') WHERE seed = 0"
        )
    outcome = karat("store", "export")
    assert outcome.code == 1
    assert set(outcome.out.splitlines()) < set(sound.splitlines())
    assert len(outcome.out.splitlines()) == 1 + 3
    assert "damaged records left out: 3, the first: karat_toys:TOY" in outcome.err
    outcome = karat("store", "ls", "--json")
    assert [row["done"] for row in outcome.json["experiments"]] == [3]
    assert "damaged records left out: 3" in outcome.err
    assert karat("report", "--out", "pages").code == 0
    assert karat(*RUN).code == 0
    rows = csv.DictReader(io.StringIO(karat("store", "export").out))
    assert [row["values.mean"] for row in rows] == [
        row["values.mean"] for row in csv.DictReader(io.StringIO(sound))
    ]
    assert karat("store", "verify").code == 0


def test_repair_of_a_newer_store_is_one_line_and_exit_code_1(karat, tmp_path):
    karat(*RUN)
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE schema SET version = 99")
    outcome = karat("store", "repair")
    assert outcome.code == 1
    assert "written by a newer karat (schema 99" in outcome.complaint()
    assert not (tmp_path / "store.sqlite.damaged").exists()


def test_repair_needs_a_store(karat):
    outcome = karat("store", "repair", "--store", "nowhere.sqlite")
    assert (outcome.code, outcome.complaint()) == (2, "nowhere.sqlite: there is no store here.")
