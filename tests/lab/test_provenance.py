"""The hash in a record is that of the code that computed it, whatever is edited and wherever it runs."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from karat.lab import Dask, Local, WorkerError, run_cells
from karat.study import source
from karat.study.experiment import cells
from karat.study.registry import find_experiment

PATIENCE = 120.0

OWN = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from karat.study.experiment import Experiment, Preset

@dataclass(frozen=True, kw_only=True)
class Config:
    folder: str = ""

@dataclass(frozen=True, kw_only=True)
class Result:
    value: float

def run(config, generator) -> Result:
    folder = Path(config.folder)
    with (folder / "log").open("a") as log:
        log.write(f"{os.getpid()}\\n")
    while not (folder / "go").exists():
        time.sleep(0.02)
    return Result(value=1.0)

MINE = Experiment(
    name="mine", title="", paper="", presets={"tiny": Preset(config=Config(), seeds=1)}, run=run
)
"""

LATE = """
    import edited_late
    return Result(value=edited_late.X)
"""


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it does not come along"
        time.sleep(0.02)


def lines(folder):
    log = folder / "log"
    return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write a module with an experiment and return a function that gives its cells and the file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def make(name, text=OWN, seeds=2):
        made.append(name)
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        return cells(find_experiment(f"{name}:MINE"), "tiny", seeds, {"folder": str(tmp_path)}), file

    yield make
    for name in made:
        sys.modules.pop(name, None)


def edit(file):
    file.write_text(file.read_text().replace("1.0", "2.0"))


def results(records):
    return {(record.values.get("value"), record.source) for record in records}


def during_first_cell(folder, act):
    """Do something as soon as a cell runs, then let the cells end."""

    def wait_and_act():
        wait_until(lambda: lines(folder))
        act()
        (folder / "go").touch()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


@pytest.mark.slow
def test_an_edit_during_the_first_cell_does_not_change_the_hash_of_its_code(store, tmp_path, own):
    wanted, file = own("edited_early")
    before = source.source_hash(find_experiment(wanted[0].experiment))
    editor = during_first_cell(tmp_path, lambda: edit(file))
    found = run_cells(wanted, store, engine=Local(1))
    editor.join()
    assert results(found) == {(1.0, before)}


@pytest.mark.slow
def test_a_worker_started_after_an_edit_is_refused(store, tmp_path, own):
    wanted, file = own("edited_between", seeds=4)
    before = source.source_hash(find_experiment(wanted[0].experiment))

    class Meddler:
        def start(self, total, done):
            (tmp_path / "go").touch()

        def advance(self, record):
            if "2.0" not in file.read_text():
                edit(file)
                os.kill(int(lines(tmp_path)[-1]), signal.SIGKILL)

        def stop(self):
            pass

    with pytest.raises(WorkerError, match=r"`edited_between:MINE`: a worker reads source \w{16}") as caught:
        run_cells(wanted, store, engine=Local(1), progress=Meddler())
    assert before in str(caught.value)
    assert "start the command again" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert results(store.records()) == {(1.0, before)}


@pytest.mark.parametrize("importer", [lambda name: None, importlib.import_module])
def test_code_edited_after_this_process_imported_it_is_refused(store, tmp_path, own, importer):
    name = f"edited_here_{importer.__name__.strip('<>')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    importer(name)  # by a script, or by karat itself below
    wanted, file = own(name)
    edit(file)
    with pytest.raises(source.SourceError, match=rf"{name}\.py was edited after .* start again"):
        run_cells(wanted, store, workers=0)
    assert store.records() == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_a_file_loaded_late_counts_as_it_was_when_hashed(store, tmp_path, own, monkeypatch, workers):
    (tmp_path / "edited_late.py").write_text("X = 1.0\n")
    wanted, _ = own(f"loads_late_{workers}", OWN.replace("    return Result(value=1.0)\n", LATE))
    editor = during_first_cell(tmp_path, lambda: edit(tmp_path / "edited_late.py"))
    with pytest.raises((source.SourceError, WorkerError), match=r"edited_late\.py was edited after"):
        run_cells(wanted, store, workers=workers)
    editor.join()
    monkeypatch.delitem(sys.modules, "edited_late", raising=False)
    assert store.records() == []


def test_a_worker_of_another_version_is_refused(store, tmp_path, own, monkeypatch):
    wanted, _ = own("other_version")
    (tmp_path / "go").touch()
    monkeypatch.setattr("karat.lab.protocol.__version__", "0.0.1")
    with pytest.raises(WorkerError, match=r"^a worker runs karat \S+, the driver 0\.0\.1"):
        run_cells(wanted, store, engine=Local(1))
    assert store.records() == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_worker_with_other_source_is_refused(store, tmp_path, own):
    pytest.importorskip("distributed", reason="dask is not installed (extra `dist`)")
    from distributed import LocalCluster

    wanted, file = own("elsewhere")
    (tmp_path / "go").touch()
    other = tmp_path / "other"
    other.mkdir()
    (other / file.name).write_text(file.read_text())
    edit(other / file.name)
    ours = source.source_hash(find_experiment(wanted[0].experiment))
    with LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0", host="127.0.0.1", protocol="tcp"
    ) as made:
        # The worker finds its own copy of the module before the driver's.
        path = os.pathsep.join([str(other), *(entry for entry in sys.path if entry)])
        command = [sys.executable, "-m", "dask", "worker", made.scheduler_address, "--nthreads", "1"]
        worker = subprocess.Popen(
            [*command, "--no-nanny", "--no-dashboard"],
            cwd=other,
            env=os.environ | {"PYTHONPATH": path},
            stderr=subprocess.DEVNULL,
        )
        try:
            with pytest.raises(WorkerError, match=r"`elsewhere:MINE`: a worker reads source") as caught:
                run_cells(wanted, store, engine=Dask(made.scheduler_address))
        finally:
            worker.kill()
            worker.wait()
    assert ours in str(caught.value)
    assert store.records() == []


def test_the_hash_of_a_module_is_the_same_before_and_after_its_import(tmp_path, own):
    (tmp_path / "named_only.py").write_text(OWN)
    before = source.hash_of(frozenset({"named_only"}))
    assert "named_only" not in sys.modules
    wanted, _ = own("named_only")
    for cached in (source.hash_of, source._closure, source._scan, source._files):
        cached.cache_clear()
    assert source.source_hash(find_experiment(wanted[0].experiment)) == before
    assert Path(sys.modules["named_only"].__file__) == tmp_path / "named_only.py"
