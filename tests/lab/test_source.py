"""The hash of the source code behind an experiment, and records that other source code has computed."""

import importlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from karat_toys import TOY

from karat.lab import run_cells
from karat.study import source
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS

OWN = """
from dataclasses import dataclass
from karat.study.experiment import Experiment, Preset
import {other}

@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 1

@dataclass(frozen=True, kw_only=True)
class Result:
    value: float

def run(config, generator) -> Result:
    import {late}
    return Result(value=1.0)

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


def files_of(name):
    """The files that count for an experiment of karat, as paths below karat."""
    files = source._closure(source.source_modules(EXPERIMENTS[name]))
    return {file.relative_to(source._KARAT / "karat").as_posix() for file in files}


def test_experiments_of_one_paper_do_not_depend_on_another():
    parts = {Path(file).parts for file in files_of("benign.fig1")}
    assert {part[1] for part in parts if part[0] == "papers"} == {"benign"}
    layers = {part[0] for part in parts}
    assert layers >= {"core", "nets", "training"}
    assert not layers & {"report", "lab", "yours", "cli"}


@pytest.mark.parametrize(
    ("name", "most"), [("benign.thm3.1", 75), ("purification.table1", 80), ("features.tab1", 35)]
)
def test_a_record_depends_on_few_files(name, most):
    assert len(files_of(name)) <= most


@pytest.mark.slow
def test_a_record_does_not_depend_on_words_lists_and_verdicts():
    for name in EXPERIMENTS:
        rooms = {Path(file).parts[2] for file in files_of(name) if file.startswith("papers/")}
        assert not rooms & {"statements.py", "checks", "figures", "tables.py", "__init__.py"}, name
        assert "study/registry.py" not in files_of(name), name


def test_experiments_of_one_paper_do_not_share_all_files():
    one, other = files_of("purification.table1"), files_of("purification.pureinit")
    assert one - other >= {"papers/purification/experiments/table1.py", "training/images/training.py"}
    assert other - one >= {"papers/purification/experiments/pureinit.py", "attacks/cascade.py"}


LOADED = """
import importlib, sys
from karat.study.experiment import Experiment, cells

def loaded():
    files = {{getattr(module, "__file__", None) for module in tuple(sys.modules.values())}}
    return {{file for file in files if file and "karat" in file and not file.endswith("__init__.py")}}

for package in {packages!r}:
    importlib.import_module(package)
before = loaded()
module = importlib.import_module({module!r})
(experiment,) = [one for one in vars(module).values() if getattr(one, "name", "") == {name!r}]
(cell, *_) = cells(experiment, "tiny", 1)
import torch
experiment.run(cell.config, torch.Generator().manual_seed(0))
for file in sorted(loaded() - before):
    print(file)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["benign.lemmas", "purification.small_ball", "convergence.parity"])
def test_every_module_that_a_cell_loads_counts(name):
    experiment = EXPERIMENTS[name]
    module = experiment.run.__module__
    layers = (
        "core",
        "data",
        "nets",
        "attacks",
        "training",
        "reductions.span",
        "probes",
        "certificates",
        "study",
    )
    packages = [*(f"karat.{layer}" for layer in layers), module.rpartition(".experiments")[0]]
    code = LOADED.format(packages=packages, module=module, name=name)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {Path(line).resolve() for line in done.stdout.splitlines()}
    assert len(loaded) > 5
    assert loaded <= {file.resolve() for file in source._closure(source.source_modules(experiment))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "counted", "others"),
    [
        ("from karat.nets import TwoLayer", {"nets/two_layer.py"}, {"nets/__init__.py", "nets/alexnet.py"}),
        ("from karat.nets import NETS", {"nets/by_name.py", "nets/deep.py"}, {"nets/alexnet.py"}),
        ("from karat import nets", {"nets/__init__.py", "nets/networks.py"}, {"attacks/pgd.py"}),
        ("import karat.nets as nets", {"nets/__init__.py", "nets/networks.py"}, {"attacks/pgd.py"}),
        ("import karat", {"nets/networks.py", "attacks/pgd.py", "api.py"}, {"cli/app.py"}),
        ("import karat.core.ball", {"core/ball.py", "attacks/pgd.py"}, {"cli/app.py"}),
        ("from karat import attack", {"yours/attacking.py", "attacks/by_name.py"}, {"nets/alexnet.py"}),
    ],
)
def test_a_name_counts_where_it_comes_from_and_a_package_as_a_whole(
    tmp_path, monkeypatch, line, counted, others
):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_names.py").write_text(f"{line}\n")
    forget()
    found = source._closure(frozenset({"own_names"}))
    files = {file.relative_to(source._KARAT / "karat").as_posix() for file in found if "karat" in file.parts}
    assert counted <= files
    assert not others & files
    forget()


def test_strangers_beside_an_installed_package_do_not_count(tmp_path, monkeypatch):
    place = tmp_path / "site-packages"
    (place / "own_package").mkdir(parents=True)
    (place / "own_package-1.0.dist-info").mkdir()
    (place / "own_package" / "__init__.py").write_text("")
    (place / "own_package" / "near.py").write_text("")
    (place / "own_package" / "cells.py").write_text("from own_package import near\nimport own_stranger\n")
    (place / "own_stranger.py").write_text("")
    monkeypatch.syspath_prepend(str(place))
    forget()
    files = source._closure(frozenset({"own_package.cells"}))
    assert {file.name for file in files} == {"__init__.py", "cells.py", "near.py"}
    forget()


def test_a_new_version_of_karat_with_the_same_source_takes_over_a_store(store, tmp_path, monkeypatch):
    log = tmp_path / "log"
    wanted = cells(TOY, "tiny", 1, {"log": str(log)})
    first = run_cells(wanted, store, workers=0)
    for module in ("execute", "protocol"):
        monkeypatch.setattr(f"karat.lab.{module}.__version__", "99.0")
    present = {TOY.name: source.source_hash(TOY)}
    assert (store.missing(wanted, present), store.stale(wanted, present)) == ([], 0)
    assert run_cells(wanted, store, workers=0, fresh=True) == first
    assert len(log.read_text().splitlines()) == 3
    store.put(replace(first[0], status="failed", source="0123456789abcdef"))
    store.put(replace(first[1], source="0123456789abcdef"))
    assert store.missing(wanted) == []
    assert store.stale(wanted, present) == 1
    again = run_cells(wanted, store, workers=0, fresh=True)
    assert [record.version for record in again] == [first[0].version, "99.0", first[2].version]


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


def test_relative_imports_count_in_packages_without_an_init_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "own_space" / "inner"
    folder.mkdir(parents=True)
    (folder / "mod.py").write_text(
        "from .helper import X\nfrom ..outer import Y\n" + OWN.format(other="math", late="math")
    )
    (folder / "helper.py").write_text("X = 1\n")
    (folder.parent / "outer.py").write_text("Y = 1\n")
    experiment = importlib.import_module("own_space.inner.mod").MINE
    try:
        before = hash_now(experiment)
        for file in (folder / "helper.py", folder.parent / "outer.py"):
            file.write_text(f"{file.read_text()}Z = 2\n")
            assert before != (before := hash_now(experiment)), file.name
    finally:
        for name in [name for name in sys.modules if name.startswith("own_space")]:
            sys.modules.pop(name)
        forget()
