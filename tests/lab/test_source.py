"""The hash of the source code behind an experiment, and records that other source code has computed."""

import importlib
import sys
from dataclasses import replace

import pytest
from karat_toys import TOY

from karat.lab import run_cells
from karat.study import source
from karat.study.experiment import cells

OWN = """
from dataclasses import dataclass
from karat.study.experiment import Experiment, Preset
import {other}

@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 1

def run(config, generator):
    import {late}
    return {{"value": 1.0}}

PRESETS = {{"tiny": Preset(config=Config(), seeds=1)}}
MINE = Experiment(name="mine", title="", paper="", presets=PRESETS, run=run)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An experiment of the user's own that imports two other files of the same folder, one of them late."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("own_experiment", "own_helper", "own_late")
    (tmp_path / "own_experiment.py").write_text(OWN.format(other="own_helper", late="own_late"))
    for name in names[1:]:
        (tmp_path / f"{name}.py").write_text("X = 1\n")
    (tmp_path / "own_stranger.py").write_text("X = 1\n")
    yield importlib.import_module("own_experiment").MINE
    for name in names:
        sys.modules.pop(name, None)
    forget()


def forget():
    for cached in (source.hash_of, source._closure, source._scan, source._files):
        cached.cache_clear()
    source._FIRST.clear()


def hash_now(experiment):
    forget()
    return source.source_hash(experiment)


@pytest.mark.parametrize(("name", "counts"), [("helper", True), ("late", True), ("stranger", False)])
def test_files_that_are_imported_count_and_others_do_not(own, tmp_path, name, counts):
    before = hash_now(own)
    assert before == hash_now(own)
    (tmp_path / f"own_{name}.py").write_text("X = 2\n")
    assert (hash_now(own) != before) is counts


def test_experiments_of_one_paper_do_not_depend_on_another(monkeypatch):
    from karat.study.registry import EXPERIMENTS

    source.source_hash(EXPERIMENTS["benign.fig1"])
    files = source._closure(frozenset({EXPERIMENTS["benign.fig1"].run.__module__}))
    papers = {file.parents[1].name for file in files if file.parent.name == "experiments"}
    assert papers == {"benign"}
    layers = {file.relative_to(source._KARAT).parts[1] for file in files}
    assert layers & {"core", "nets", "training"}
    assert not layers & {"claims", "report", "models", "cli"}  # named in karat/__init__.py for types only


def test_records_carry_the_source_and_stale_ones_are_counted_and_computed_again(store, tmp_path):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log)})
    first = run_cells(wanted, store, workers=0)
    present = {TOY.name: source.source_hash(TOY)}
    assert {record.source for record in first} == set(present.values())
    assert store.stale(wanted, present) == 0
    store.put(replace(first[1], source="0123456789abcdef"))
    assert store.stale(wanted, present) == 1
    run_cells(wanted, store, workers=0)
    assert len(log.read_text().splitlines()) == 3
    again = run_cells(wanted, store, workers=0, fresh=True)
    assert len(log.read_text().splitlines()) == 4
    assert [record.source for record in again] == [record.source for record in first]
    assert store.stale(wanted, present) == 0
