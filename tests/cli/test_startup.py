"""Commands that only look start without torch, and the index they read is that of the checks."""

import subprocess
import sys

import pytest

from karat.claims import CHECKS, executable_ids
from karat.claims.registry import index_text
from karat.experiments import EXPERIMENTS

CODE = """
import sys
from karat.cli.main import main
code = main({arguments!r})
heavy = {{"torch", "numpy", "matplotlib", "scipy"}} & set(sys.modules)
sys.exit(f"loaded {{heavy}}" if heavy else code)
"""


@pytest.mark.parametrize("arguments", [["papers"], ["papers", "--json"], ["claims"], ["--help"]])
def test_looking_does_not_import_torch(arguments):
    code = CODE.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_index_names_every_check():
    assert executable_ids() == set(CHECKS), "run `python -m karat.claims` after adding or removing checks"
    assert index_text().split() == sorted(CHECKS)


def test_the_export_lists_are_mappings():
    for table in (CHECKS, EXPERIMENTS):
        assert len(table) == len(list(table)) == len(dict(table))
        name = next(iter(table))
        assert name in table
        assert table[name] is dict(table)[name]
        assert "nobody.thing" not in table
        with pytest.raises(KeyError):
            table["nobody.thing"]
