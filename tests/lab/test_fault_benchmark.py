"""The benchmark of faults: it passes a sweep that survives, and sees records that are gone or wrong."""

import importlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from karat.lab import Store

SCRIPTS = Path(__file__).parents[2] / "benchmarks"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to watch processes"),
]


@pytest.fixture
def trial(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    module = importlib.import_module("fault_trial")
    yield module.Trial()
    for name in ("fault_trial", "fault_cells"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_a_killed_worker_is_survived():
    command = [sys.executable, str(SCRIPTS / "faults.py"), "--quick", "--json", "--only", "worker killed"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["size"] for row in rows] == ["worker killed", "code edited, then a worker killed"]
    assert {row["note"] for row in rows} == {"0 lost, 0 wrong, 0 duplicates, 0 hangs"}


@pytest.mark.slow
def test_records_that_are_gone_or_altered_are_counted(trial):
    trial.end(trial.start())
    with Store(trial.store) as store:
        altered = next(record for record in store.records() if record.seed == 1)
        store.put(replace(altered, values=altered.values | {"value": altered.values["value"] + 1.0}))
    with closing(sqlite3.connect(trial.store)) as store, store:
        store.execute("DELETE FROM cells WHERE seed = 0")
    count = trial.finish()
    assert (count["lost"], count["wrong"], count["hangs"]) == (8, 1, 0)
