import csv
import io
import json

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
        (["rm", "--status", "lost"], "`--status` must be one of done, diverged, failed, got 'lost'."),
        (["export", "--format", "xls"], "`--format` must be csv, jsonl or parquet, got 'xls'."),
        (["export", "--out", "nowhere/records.csv"], "nowhere/records.csv: No such file or directory."),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(karat, arguments, message, tmp_path):
    karat(*RUN, "--seeds", "1", "--set", "d=1")
    outcome = karat("store", *arguments)
    assert outcome.code == 2
    assert outcome.complaint().startswith(message)
    assert not (tmp_path / "nowhere.sqlite").exists()


def test_report_reads_the_store_and_needs_one(karat, tmp_path):
    assert karat("report").code == 2
    karat(*RUN, "--seeds", "1", "--set", "d=1")
    outcome = karat("report", "--out", "pages", "--json")
    assert outcome.code == 0
    assert (tmp_path / outcome.json["report"]).exists()
