"""An experiment without a figure of its own is drawn all the same."""

import importlib

import pytest

from karat.report.build import build
from karat.report.default_figure import MOST_VALUES, default_figure
from karat.report.embed import data_uri
from karat.study.experiment import cells


def records_of(toy, scale="quick", values=None):
    return [
        toy.record(cell, values=values or {"error": 0.1 * cell.seed + cell.config.mu, "curve": [1, 2]})
        for cell in cells(toy.experiment, scale)
    ]


def test_means_over_seeds_are_drawn_against_the_first_setting_that_varies(toy):
    (picture,) = default_figure(records_of(toy))
    (axes,) = picture.figure.axes
    assert data_uri(picture.figure).startswith("data:image/png")
    assert (axes.get_xlabel(), axes.get_title(loc="left")) == ("mu", "error")
    assert list(axes.lines[0].get_xdata()) == [5.0, 8.0]
    assert list(axes.lines[0].get_ydata()) == pytest.approx([5.1, 8.1])


def test_seeds_stand_side_by_side_where_nothing_varies(toy):
    (picture,) = default_figure(records_of(toy, "tiny"))
    assert list(picture.figure.axes[0].lines[0].get_xdata()) == [0, 1, 2]
    assert picture.caption.startswith("Every seed is a point.")


def test_other_settings_give_one_line_each_and_what_is_left_out_is_said(toy):
    many = {f"value{index}": float(index) for index in range(MOST_VALUES + 1)}
    records = [
        toy.record(cell, values=many) for cell in cells(toy.experiment, "quick", grid={"ratio": (0.1, 0.2)})
    ]
    pictures = default_figure(records)
    assert sum(len(picture.figure.axes) for picture in pictures) == MOST_VALUES
    assert [text.get_text() for text in pictures[0].figure.axes[0].get_legend().get_texts()] == [
        "ratio = 0.1",
        "ratio = 0.2",
    ]
    assert f"The first {MOST_VALUES} of {len(many)} values." in pictures[0].caption


def test_records_without_numbers_draw_nothing(toy):
    assert default_figure([]) == []
    assert default_figure(records_of(toy, values={"name": "text"})) == []


def test_the_report_shows_it(toy, store, tmp_path, monkeypatch, read_page):
    monkeypatch.setattr(importlib.import_module("karat.report.build"), "FIGURES", {})
    for record in records_of(toy):
        store.put(record)
    build(store, tmp_path / "out", **toy.lists)
    assert "error against μ" in read_page(tmp_path / "out" / "benign.html").text
