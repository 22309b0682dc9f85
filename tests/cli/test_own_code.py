"""The user's modules in the working folder are found, and take the place of no package that karat needs."""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from karat.cli.inputs import allow_own_code
from karat.lab.child import _environment


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a net, and files named like packages that karat imports late."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_nets_here", "clarabel", "torch"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this code was run')\n")
    return tmp_path


def test_packages_come_before_the_working_folder(folder):
    allow_own_code()
    allow_own_code()
    assert sys.path.count(str(folder)) == 1
    for name in ("clarabel", "torch"):
        assert Path(PathFinder.find_spec(name).origin).parent != folder
    assert PathFinder.find_spec("own_nets_here").origin == str(folder / "own_nets_here.py")


def test_workers_look_in_the_same_order(folder):
    allow_own_code()
    path = _environment(sys.path)["PYTHONPATH"].split(os.pathsep)
    assert Path(PathFinder.find_spec("clarabel", path).origin).parent != folder
    assert PathFinder.find_spec("own_nets_here", path).origin == str(folder / "own_nets_here.py")


def test_a_model_that_another_package_hides_is_said_to_be_elsewhere(karat, folder):
    (folder / "numpy.py").write_text("def build(): pass\n")
    complaint = karat("certify", "--model", "numpy:build", "--data", "digits01", "--tau", "1").complaint()
    assert complaint.startswith("`numpy` has no `build`; it was read from ")
    assert str(folder) not in complaint


@pytest.mark.parametrize("command", ["certify", "probe"])
def test_the_help_says_that_a_model_runs_code(karat, command):
    text = " ".join(karat(command, "--help").out.replace("│", " ").split())
    assert "its code is run" in text
