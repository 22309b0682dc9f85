import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from karat.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))  # karat_toys


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        def refuse(word):
            raise ValueError(f"{word} is not strict JSON")

        return json.loads(self.out, parse_constant=refuse)

    def complaint(self):
        """The one line on standard error, when it is all there is."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("karat: ")
        return line.removeprefix("karat: ")


@pytest.fixture
def karat(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder with its own store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.delenv("KARAT_DEBUG", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call
