"""A row of the claims table shows what qualifies its verdict."""

from dataclasses import replace

from karat.report.build import build
from karat.study.hypothesis import at_least, waived


def test_a_decided_claim_shows_resolution_p_value_and_holm(fill, store, toy, tmp_path, read_page):
    fill("tiny")
    text = read_page(build(store, tmp_path / "out", **toy.lists)).text
    assert "would see" in text
    assert "p = " in text
    assert "stands among all" in text


def test_an_unmet_hypothesis_stands_once_with_its_command(fill, store, toy, tmp_path, read_page):
    fill("quick")  # two settings
    lists = toy.lists
    conditions = {"conditions": lambda config: [at_least("d >= 30", config.d, 30), waived("iid", "Sec 1")]}
    lists["checks"] = {name: replace(check, **conditions) for name, check in lists["checks"].items()}
    index = build(store, tmp_path / "out", **lists)
    text = read_page(index.with_name("benign.html")).text
    assert text.count("unmet d ≥ 30 (20 against 30) at 2 of 2 settings") == 1
    assert "waived iid: Sec 1" in text
    assert "karat check benign.sec5 --scale full" in text
    assert "iid: Sec 1 benign.sec5" in read_page(index.with_name("trust.html")).text
