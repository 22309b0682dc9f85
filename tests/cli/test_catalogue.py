"""The catalogue says what the checks and experiments themselves say, and follows their files."""

import json

import pytest

from karat.cli import catalogue as module
from karat.cli.catalogue import check_facts, experiment_facts, remember_everything
from karat.study.registry import CHECKS, EXPERIMENTS, PAPERS, STATEMENTS


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "karat"


@pytest.mark.slow
def test_every_claim_and_experiment_is_in_the_catalogue(cache):
    experiments = experiment_facts()
    assert list(experiments) == list(EXPERIMENTS)
    assert sum(entry["claims"] for entry in experiments.values()) == len(CHECKS)
    for statement in STATEMENTS:
        facts, check = check_facts(statement.id), CHECKS.get(statement.id)
        assert (facts is None) == (check is None)
        if facts and check:
            assert (facts["experiment"], facts["reading"]) == (check.name, check.reading)
            assert [control["name"] for control in facts["controls"]] == [c.name for c in check.controls]
            assert facts["rules"]
            for place in facts["code"]:
                file, _, line = place.rpartition(":")
                assert (module.SOURCE / file).is_file()
                assert int(line) > 0
            assert facts == check_facts(statement.id) == json.loads(json.dumps(facts, allow_nan=False))


def test_every_hypothesis_stands_once_in_the_catalogue(cache):
    for claim_id in ("benign.thm3.1.3", "convergence.cor5.1"):
        facts = check_facts(claim_id)
        names = [entry["name"] for entry in facts["ledger"]]
        assert names
        assert len(names) == len(set(names))
        assert facts["ledger_scale"] == "quick"


def test_a_changed_source_file_makes_a_new_catalogue(cache, monkeypatch):
    experiment_facts()
    (first,) = cache.iterdir()
    first.write_text("{}")
    assert experiment_facts() == {}
    monkeypatch.setattr(module, "__version__", "9.9")  # stands for any change of what is hashed
    assert experiment_facts()
    (second,) = cache.iterdir()
    assert second != first


@pytest.mark.parametrize("damage", ["", "{", "\x00"])
def test_a_damaged_file_is_replaced(cache, damage):
    whole = experiment_facts()
    (file,) = cache.iterdir()
    file.write_text(damage)
    assert experiment_facts() == whole
    assert json.loads(file.read_text()) == whole


def test_a_folder_that_cannot_be_made_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert experiment_facts()


def test_a_command_that_loads_everything_leaves_a_file_for_each_paper(cache):
    remember_everything()
    names = {file.name.rpartition("-")[0] for file in cache.iterdir()}
    assert names == {"experiments", *(f"claims-{paper}" for paper in PAPERS)}
