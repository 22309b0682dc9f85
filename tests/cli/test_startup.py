"""Commands that only look start without torch, and what they read from the source is true."""

import subprocess
import sys

import pytest

from karat.study.registry import CHECKS, EXPERIMENTS, executable_ids

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


def test_the_checks_read_from_the_source_are_all_there_are():
    assert executable_ids() == set(CHECKS), "every entry of CHECKS needs its id as a literal"


def test_the_export_lists_are_mappings():
    for table in (CHECKS, EXPERIMENTS):
        assert len(table) == len(list(table)) == len(dict(table))
        name = next(iter(table))
        assert name in table
        assert table[name] is dict(table)[name]
        assert "nobody.thing" not in table
        with pytest.raises(KeyError):
            table["nobody.thing"]
