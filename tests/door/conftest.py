"""Site folders with packages of other people, as pip would leave them, and karat in a new process."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import karat

SOURCE = Path(karat.__file__).parents[1]

INIT = """
from karat.study.paper import Paper
from karat.study.statement import tabulate

STATEMENTS = tabulate("{key}", "thm1 | Thm 1 | 0 | upper" + chr(10) + "  A thing is small.")
FACTS = {{"title": "T", "authors": ("A",), "venue": "V", "year": 2026, "package": __name__}}
PAPER = Paper(key="{key}", statements=STATEMENTS, **FACTS)
"""
EXPERIMENTS = """
from dataclasses import dataclass
import torch
from karat.study.experiment import Experiment, Preset

@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 3

@dataclass(frozen=True, kw_only=True)
class Result:
    value: float

def run(config, generator) -> Result:
    return Result(value=float(torch.rand(config.d, generator=generator).mean()))

PRESETS = {{scale: Preset(config=Config(), seeds=3) for scale in ("tiny", "quick", "full")}}
NOISE = Experiment(name="{key}.noise", title="How large?", paper="{key}", presets=PRESETS, run=run)
"""
CHECKS = """
from karat.study.check import Check
from karat.study.finding import RATIO
from karat.study.judging import bound
from {package}.experiments import NOISE

def small(runs):
    return bound([run.result.value for run in runs], "at most", 2.0, RATIO)

CHECKS = (Check(claim_id="{key}.thm1", experiment=NOISE, evaluate=small),)
"""


class Site:
    """A folder that counts as site-packages."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder = folder
        self.paths = [folder]

    def register(self, package, value=None):
        """Write what pip keeps of a package that is installed."""
        info = self.folder / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[karat.papers]\n{package} = {value or package}\n")

    def package(self, name, key=None, **files):
        """Write and register a package that is sound but for the files given."""
        home = self.folder / name
        home.mkdir(parents=True)
        texts = {"__init__": INIT, "experiments": EXPERIMENTS, "checks": CHECKS}
        for file, text in texts.items():
            (home / f"{file}.py").write_text(files.get(file, text.format(key=key or name, package=name)))
        self.register(name)
        return home

    def python(self, *arguments, **environment):
        """Run a new interpreter that sees the folder."""
        path = os.pathsep.join(map(str, [SOURCE, *self.paths]))
        store = str(self.folder / "store.sqlite")
        variables = {"PYTHONPATH": path, "KARAT_STORE": store, "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=os.environ | variables | environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def karat(self, *arguments):
        """Run a command."""
        return self.python("-m", "karat.cli", *arguments)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")


@pytest.fixture(scope="session")
def install():
    """Build a package and put it into a folder with pip, without a network."""

    def call(project, folder):
        choices = ("-q", "--no-deps", "--no-build-isolation", "--no-index", "--target")
        command = [sys.executable, "-m", "pip", "install", *choices, folder, project]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return folder

    return call


@pytest.fixture
def karat(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder, in this process."""
    from karat.cli.main import main

    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def complaint(self):
        """The one line on standard error, when it is all there is."""
        (line,) = self.err.splitlines()
        assert self.out == ""
        return line.removeprefix("karat: ")
