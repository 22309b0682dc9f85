"""Stores in folders where nobody may write, such as a colleague's."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from karat.lab import Store
from karat.lab.store.file import open_to_read

# Root may write everywhere: it lays down just that right.
LIMITED = ["setpriv", *(f"--{kind}=-dac_override,-dac_read_search" for kind in ("bounding-set", "inh-caps"))]
COMMANDS = [
    "store ls",
    "store verify",
    "store export",
    pytest.param("report", marks=pytest.mark.slow),
]


def limited(command):
    """A command that obeys the permissions of files."""
    if os.geteuid() != 0:
        return command
    if shutil.which("setpriv") is None or subprocess.run([*LIMITED, "true"], check=False).returncode:
        pytest.skip("root cannot lay down its right to write everywhere")
    return [*LIMITED, *command]


@pytest.fixture
def folder(tmp_path, make_record):
    """A folder with a store of three records, the last only in its journal if one is left."""
    made = tmp_path / "colleague"
    with Store(made / "store.sqlite") as store:
        for seed in range(3):
            store.put(make_record(seed=seed))
    yield made
    made.chmod(0o700)


def karat(folder, *arguments):
    command = [sys.executable, "-m", "karat.cli", *arguments, "--store", str(folder / "store.sqlite")]
    folder.chmod(0o500)
    return subprocess.run(
        limited(command), cwd=folder.parent, capture_output=True, text=True, timeout=180, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_is_read_where_nobody_may_write(folder, command):
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    outcome = karat(folder, *command.split())
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("index", [True, False])
def test_records_that_are_only_in_the_journal_are_read_there_too(folder, make_record, index):
    """A killed driver leaves its journal behind, with the index of the journal or without it."""
    left = folder.parent / "left"
    left.mkdir()
    with Store(folder / "store.sqlite") as store:
        store.put(make_record(seed=3))
        for suffix in ("", "-wal", "-shm") if index else ("", "-wal"):
            shutil.copy(folder / f"store.sqlite{suffix}", left)
    try:
        outcome = karat(left, "store", "export", "--format", "jsonl")
        assert (outcome.returncode, outcome.stderr) == (0, "")
        assert [json.loads(line)["seed"] for line in outcome.stdout.splitlines()] == [0, 1, 2, 3]
    finally:
        left.chmod(0o700)


@pytest.mark.slow
def test_repair_where_nobody_may_write_says_so(folder):
    assert "sound, there is nothing to repair" in karat(folder, "store", "repair").stdout
    mode = folder.stat().st_mode
    folder.chmod(0o700)
    with closing(sqlite3.connect(folder / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE cells SET record = record || ' ' WHERE seed = 0")
    folder.chmod(mode)
    outcome = karat(folder, "store", "repair")
    assert outcome.returncode == 1
    reason = "its folder cannot be written; copy the store and repair the copy."
    assert outcome.stderr == f"karat: {folder / 'store.sqlite'}: {reason}\n"
    folder.chmod(0o700)
    with closing(open_to_read(folder / "store.sqlite")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM cells").fetchone() == (3,)


@pytest.mark.slow
def test_a_file_nobody_may_read_is_not_called_damaged(folder):
    (folder / "store.sqlite").chmod(0)
    outcome = subprocess.run(
        limited([sys.executable, "-m", "karat.cli", "store", "repair"]),
        env=os.environ | {"KARAT_STORE": str(folder / "store.sqlite")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert outcome.returncode == 1
    assert "the store cannot be opened (no access to the file or its folder)" in outcome.stderr
