"""The catalogue says what the checks and experiments themselves say, and follows their files."""

import json

import pytest

from karat.cli import catalogue as module
from karat.cli.catalogue import catalogue
from karat.study.registry import CHECKS, EXPERIMENTS, STATEMENTS


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "karat"


def test_every_claim_and_experiment_is_in_the_catalogue(cache):
    facts = catalogue()
    assert list(facts["claims"]) == [statement.id for statement in STATEMENTS]
    assert list(facts["experiments"]) == list(EXPERIMENTS)
    for claim_id, check in CHECKS.items():
        entry = facts["claims"][claim_id]
        assert entry["check"]["experiment"] == check.name
        assert entry["check"]["reading"] == check.reading
        assert entry["claim"]["status"] == "executable"
        for place in entry["check"]["code"]:
            file, _, line = place.rpartition(":")
            assert (module.SOURCE / file).is_file()
            assert int(line) > 0
    assert sum(entry["claims"] for entry in facts["experiments"].values()) == len(CHECKS)
    assert facts == catalogue() == json.loads(json.dumps(facts))


def test_a_changed_source_file_makes_a_new_catalogue(cache, monkeypatch):
    catalogue()
    (first,) = cache.iterdir()
    first.write_text('{"claims": {}, "experiments": {}}')
    assert catalogue() == {"claims": {}, "experiments": {}}
    monkeypatch.setattr(module, "__version__", "9.9")  # stands for any change of what is hashed
    assert catalogue()["claims"]
    (second,) = cache.iterdir()
    assert second != first


@pytest.mark.parametrize("damage", ["", "{", "\x00"])
def test_a_damaged_file_is_replaced(cache, damage):
    whole = catalogue()
    (file,) = cache.iterdir()
    file.write_text(damage)
    assert catalogue() == whole
    assert json.loads(file.read_text()) == whole


def test_a_folder_that_cannot_be_made_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert catalogue()["experiments"]
