"""Records of every experiment at its tiny size, computed once per process."""

from functools import cache

import pytest

from karat.lab.execute import execute
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS


@cache
def _records(name):
    return [execute(cell, show_traceback=True) for cell in cells(EXPERIMENTS[name], "tiny", 2)]


@pytest.fixture(scope="session")
def records():
    """Experiment name -> its records of two seeds."""
    return _records
