"""Figures and tables of features from records at the tiny size."""

import csv
import io
from functools import cache

import pytest

from karat.cli.main import main
from karat.lab import Store
from karat.lab.execute import execute
from karat.report.embed import data_uri
from karat.report.summary_table import table_of
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS, FIGURES
from karat.study.tables import FORMATS, Table

NAMES = [name for name in EXPERIMENTS if name.startswith("features.")]


@cache
def _records(name):
    return [execute(cell) for cell in cells(EXPERIMENTS[name], "tiny", 2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name in FIGURES])
def test_every_figure_draws_the_tiny_records(name):
    pictures = FIGURES[name](_records(name))
    assert pictures
    for picture in pictures[:3]:
        assert data_uri(picture.figure)
        assert picture.caption.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_table_in_both_formats(name):
    table = table_of(name)(_records(name))
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert rows[0] == list(table.columns)
    assert len(rows) == len(table.rows) + 1
    assert table.markdown().count("\n|") >= len(table.rows)


def test_table_1_shows_printed_numbers_beside_measured_ones():
    table = table_of("features.tab1")(_records("features.tab1"))
    row = next(dict(zip(table.columns, row, strict=True)) for row in table.rows if row[1] == "NTK")
    assert (row["printed test %"], row["printed train %"], row["printed cosine"]) == (86.4, 84.0, None)
    assert row["seeds"] == 2


def test_the_table_command_writes_csv_and_markdown(tmp_path, capsys):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        for record in _records("features.tab1"):
            store.put(record)
    assert main(["table", "features.tab1", "--store", str(path)]) == 0
    assert capsys.readouterr().out.startswith("**Table 1 of features")
    out = tmp_path / "t.csv"
    arguments = ["table", "features.tab1", "--format", "csv", "--out", str(out), "--store", str(path)]
    assert main(arguments) == 0
    assert out.read_text().startswith("part,method,test %")
    assert main(["table", "features.tab1", "--format", "xls", "--store", str(path)]) == 2
    assert main(["table", "features.tab2", "--store", str(path)]) == 1
    assert "run `karat run features.tab2` first" in capsys.readouterr().err


def test_a_short_row_is_refused():
    with pytest.raises(ValueError, match="must have 2 cells, got 1"):
        Table(title="T", columns=("a", "b"), rows=((1,),))
    assert set(FORMATS) == {"csv", "md"}
