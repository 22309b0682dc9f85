"""The report shows what the store holds, runs nothing, and is one safe file per page."""

import importlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest

from karat.report import ReportError, build
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import new_figure
from karat.study.experiment import Preset, cells
from karat.study.hypothesis import is_so
from karat.study.registry import PAPERS, STATEMENTS
from karat.version import __version__


@pytest.fixture(autouse=True)
def blank_images(monkeypatch):
    """Drawing is tested beside the figures; here a page only has to carry what was drawn."""
    module = importlib.import_module("karat.report.build")  # the package also exports a function of this name
    monkeypatch.setattr(module, "data_uri", lambda figure: "data:image/png;base64,AAAA")


def test_an_empty_store_gives_a_report_in_which_nothing_ran(store, tmp_path, read_page):
    page = read_page(build(store, tmp_path / "out"))
    assert f"not run {len(STATEMENTS)}" in page.text
    assert "holds 0" in page.text
    assert "No records to draw yet" in page.text
    for key, paper in PAPERS.items():
        assert paper.title in page.text
        own = read_page(tmp_path / "out" / f"{key}.html").text
        assert all(statement.id in own for statement in STATEMENTS if statement.paper == key)


def test_a_full_store_shows_numbers_verdict_and_figure(toy, store, fill, tmp_path, read_page):
    fill("quick")
    index = build(store, tmp_path / "out", **toy.lists)
    page = read_page(index)
    assert "holds 1" in page.text
    assert "0.151 [0.1485, 0.1535]" in page.text
    assert "quick · 3 seeds" in page.text
    assert "6 of 6" in page.text
    images = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    assert len(images) == 1
    assert images[0].startswith("data:image/png;base64,")
    assert all(value for tag, name, value in page.attributes if (tag, name) == ("img", "alt"))
    assert read_page(tmp_path / "out" / "benign.html").tags.count("img") == 2


def test_more_seeds_count_where_every_setting_has_them_and_are_told(toy, store, fill, tmp_path, read_page):
    fill("quick")
    first, *_, last = cells(toy.experiment, "quick", 4)
    store.put(toy.record(first.with_seed(3)))
    assert "not the planned one" not in read_page(build(store, tmp_path / "out", **toy.lists)).text
    store.put(toy.record(last))
    build(store, tmp_path / "out", **toy.lists)
    assert "not the planned one" in read_page(tmp_path / "out" / "benign.html").text


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    mu: float = 5.0
    source: Literal["embedded", "mnist"] = "mnist"


@pytest.mark.parametrize("source", ["mnist", "embedded"])
def test_a_store_filled_with_other_images_is_judged_and_says_which(toy, store, tmp_path, read_page, source):
    preset = Preset(config=ImageConfig(), grid={"mu": (5.0, 8.0)}, seeds=3)
    experiment = replace(toy.experiment, presets={"quick": preset})
    lists = {
        "checks": {"benign.sec5": toy.check(experiment=experiment)},
        "experiments": {experiment.name: experiment},
    }
    for cell in cells(experiment, "quick", overrides={"source": source}):
        store.put(toy.record(cell))
    build(store, tmp_path / "out", **lists)
    page = read_page(tmp_path / "out" / "benign.html").text
    assert "0.151 [0.1485, 0.1535]" in page
    assert f"images: {source}" in page


@pytest.mark.parametrize("version", ["0.0.1", __version__])
def test_records_of_any_version_are_judged_and_those_of_other_source_are_counted(
    toy, store, fill, tmp_path, read_page, version
):
    fill("quick", version=version)
    page = read_page(build(store, tmp_path / "out", **toy.lists))
    assert "holds 1" in page.text
    assert "6 of 6" in page.text
    assert "6 by other source code" in page.text


def test_pages_need_nothing_from_outside(toy, store, fill, tmp_path, read_page):
    fill("quick")
    build(store, tmp_path / "out", **toy.lists)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"index.html", "trust.html", *(f"{key}.html" for key in PAPERS)}
    for path in (tmp_path / "out").iterdir():
        page = read_page(path)
        assert not re.search(r"https?:|@import|url\(", path.read_text(encoding="utf-8"))
        links = [value for _, name, value in page.attributes if name in ("href", "src")]
        assert {link.partition("#")[0] for link in links if not link.startswith("data:")} <= names


def test_claims_link_to_their_row(toy, store, tmp_path, read_page):
    page = read_page(build(store, tmp_path / "out", **toy.lists))
    anchors = {value for _, name, value in page.attributes if name == "id"}
    assert "benign.sec5" in anchors
    own = read_page(tmp_path / "out" / "benign.html")
    assert "benign.sec5" in {value for _, name, value in own.attributes if name == "id"}


def test_a_partial_sweep_with_lost_cells_names_them(toy, store, fill, tmp_path, read_page):
    fill("quick", keep=lambda cell: cell.seed == 0)
    fill("quick", keep=lambda cell: cell.seed == 1, status="diverged", error="diverged at step 7")
    fill(
        "quick", keep=lambda cell: cell.seed == 2 and cell.config.mu == 8, status="failed", error="no memory"
    )
    text = read_page(build(store, tmp_path / "out", **toy.lists)).text
    assert "2 of 6" in text
    assert "3 cells of benign.sec5 without a result" in text
    assert "diverged mu = 5 1 diverged at step 7" in text
    assert "failed mu = 8 2 no memory" in text
    assert "Left out of 5 cells: 2 diverged, 1 failed." in text


def test_a_report_tells_no_folder_of_a_failed_cell(toy, store, fill, tmp_path, read_page):
    error = "FileNotFoundError: [Errno 2] No such file or directory: '/home/ada/secret plans/digits.npz'"
    fill("quick", status="failed", error=error)
    page = build(store, tmp_path / "out", **toy.lists)
    assert "No such file or directory: 'digits.npz'" in read_page(page).text
    assert "ada" not in read_page(page).text
    assert "secret" not in read_page(tmp_path / "out" / "benign.html").text
    assert {record.error for record in store.records()} == {error}


def test_nothing_but_divergence_is_inconclusive(toy, store, fill, tmp_path, read_page):
    fill("quick", status="diverged", error="diverged at step 3")
    text = read_page(build(store, tmp_path / "out", **toy.lists)).text
    assert "inconclusive 1" in text
    assert "No records to draw yet" in text


class TestScale:
    def test_a_complete_small_scale_beats_a_large_one_just_begun(self, toy, store, fill, tmp_path, read_page):
        fill("tiny")
        fill("full", keep=lambda cell: cell.seed == 0)
        assert "tiny · 3 seeds" in read_page(build(store, tmp_path / "out", **toy.lists)).text

    def test_the_largest_complete_scale_is_shown(self, toy, store, fill, tmp_path, read_page):
        fill("tiny")
        fill("full")
        text = read_page(build(store, tmp_path / "out", **toy.lists)).text
        assert "full · 3 seeds" in text

    def test_the_largest_begun_scale_is_shown_if_none_is_complete(
        self, toy, store, fill, tmp_path, read_page
    ):
        fill("tiny", keep=lambda cell: cell.seed == 0)
        fill("quick", keep=lambda cell: cell.seed == 0)
        assert "quick · 1 seed" in read_page(build(store, tmp_path / "out", **toy.lists)).text

    def test_a_chosen_scale_hides_the_others(self, toy, store, fill, tmp_path, read_page):
        fill("tiny")
        text = read_page(build(store, tmp_path / "out", "full", **toy.lists)).text
        assert f"not run {len(STATEMENTS)}" in text

    def test_a_check_that_makes_no_sense_there_is_not_judged(self, toy, store, fill, tmp_path, read_page):
        fill("tiny")
        lists = toy.lists | {"checks": {"benign.sec5": toy.check(scales=("full",))}}
        assert f"not run {len(STATEMENTS)}" in read_page(build(store, tmp_path / "out", **lists)).text

    def test_an_unknown_scale_is_refused(self, store, tmp_path):
        with pytest.raises(
            ValueError, match=r"`scale` of `build` must be one of 'tiny', 'quick', 'full'; got 'xl'"
        ):
            build(store, tmp_path / "out", "xl")


def test_experiments_of_others_are_listed(toy, store, tmp_path, read_page):
    cell = cells(toy.experiment, "tiny")[0]
    foreign = toy.record(cell).to_dict() | {"experiment": "mine.lab:TOY"}
    store.put(type(toy.record(cell))(**foreign))
    text = read_page(build(store, tmp_path / "out")).text
    assert "mine.lab:TOY" in text
    assert "1 of 1" in text


def test_hostile_strings_stay_text(toy, store, tmp_path, read_page):
    attack = "<script>alert(1)</script>"
    breakout = '"><img src=x onerror=alert(1)>'
    for cell in cells(toy.experiment, "tiny", overrides={"label": attack + breakout}):
        store.put(toy.record(cell, status="failed", error=attack))
    preset = toy.experiment.presets["tiny"]
    hostile = type(toy.experiment)(
        name=toy.experiment.name,
        title=attack,
        paper="benign",
        presets={"quick": type(preset)(config=preset.config, grid={"label": ("plain", breakout)}, seeds=2)},
        run=toy.experiment.run,
    )
    for cell in cells(hostile, "quick"):
        store.put(toy.record(cell))
    check = toy.check(
        experiment=hostile,
        reported=attack,
        reading=breakout,
        conditions=lambda config: [is_so(attack, False, breakout)],
    )
    index = build(
        store, tmp_path / "out", checks={check.claim_id: check}, experiments={hostile.name: hostile}
    )
    for path in (index, tmp_path / "out" / "benign.html"):
        raw, page = path.read_text(encoding="utf-8"), read_page(path)
        assert "<script>alert" not in raw
        assert page.tags.count("script") == 1
        assert {value[:5] for tag, name, value in page.attributes if (tag, name) == ("img", "src")} == {
            "data:"
        }
        assert not any(name.startswith("on") for _, name, _ in page.attributes)
        assert attack in page.text
    assert "out of regime 1" in read_page(index).text
    assert "<script>alert" not in (tmp_path / "out" / "trust.html").read_text(encoding="utf-8")


def test_records_that_do_not_fit_a_figure_leave_a_note(toy, store, fill, tmp_path, read_page):
    fill("tiny", values={"final_robust_error": 0.1})
    text = read_page(build(store, tmp_path / "out", **toy.lists)).text
    assert "The records do not fit this figure (KeyError: 'iterations')." in text


def test_figures_are_drawn_again_only_when_their_records_change(
    toy, store, fill, tmp_path, monkeypatch, read_page
):
    names = []
    module = importlib.import_module("karat.report.build")
    draw = module.data_uri
    monkeypatch.setattr(module, "data_uri", lambda figure: names.append(1) or draw(figure))
    drawn = {}
    fill("tiny")
    first = read_page(build(store, tmp_path / "out", drawn=drawn, **toy.lists)).attributes
    assert read_page(build(store, tmp_path / "out", drawn=drawn, **toy.lists)).attributes == first
    assert len(names) == 1
    fill("quick")
    build(store, tmp_path / "out", drawn=drawn, **toy.lists)
    assert len(names) > 1


def test_panels_side_by_side_get_the_width_of_the_page(toy, store, fill, tmp_path, monkeypatch, read_page):
    fill("tiny")
    widths = []
    for columns in (1, 3):
        figure, _ = new_figure(columns)
        picture = Picture("Panels", "Side by side.", figure)
        module = importlib.import_module("karat.report.build")
        monkeypatch.setattr(module, "FIGURES", {"benign.sec5": lambda records, shown=picture: [shown]})
        page = read_page(build(store, tmp_path / "out", **toy.lists))
        widths.append([value for tag, name, value in page.attributes if (tag, name) == ("figure", "class")])
    assert widths == [[], ["wide"]]


def test_writing_leaves_no_drafts_and_replaces_the_old_report(toy, store, fill, tmp_path, read_page):
    build(store, tmp_path / "out", **toy.lists)
    fill("tiny")
    assert "holds 1" in read_page(build(store, tmp_path / "out", **toy.lists)).text
    assert not list((tmp_path / "out").glob(".*"))


def test_a_failed_write_keeps_the_old_page(toy, store, fill, tmp_path, monkeypatch):
    index = build(store, tmp_path / "out", **toy.lists)
    before = index.read_text(encoding="utf-8")
    fill("tiny")

    def full_disk(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(
        ReportError, match=r"the report cannot be written to .* \(No space left on device\)\."
    ):
        build(store, tmp_path / "out", **toy.lists)
    assert index.read_text(encoding="utf-8") == before
    assert not list((tmp_path / "out").glob(".*"))


def test_a_file_in_the_place_of_the_folder_is_one_clear_line(store, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ReportError, match=r"^the report cannot be written to .*\(File exists\)\.$"):
        build(store, tmp_path / "out")
