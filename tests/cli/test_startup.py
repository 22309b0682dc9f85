"""What is asked for is all that is loaded: looking needs no torch, an attack no papers."""

import os
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["papers"],
        ["papers", "--json"],
        ["claims"],
        ["claims", "--json"],
        ["show", "benign.def2.1"],
        ["--help"],
    ],
)
def test_looking_does_not_import_torch(arguments, tmp_path):
    code = CODE.format(arguments=arguments)
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout


RUN = ["check", "features.lem24", "--scale", "tiny", "--workers", "0"]


def environment_of(cache):
    return os.environ | {"XDG_CACHE_HOME": str(cache), "KARAT_STORE": str(cache / "store.sqlite")}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache folder in which some commands have left the catalogue and the verdicts on a store."""
    folder = tmp_path_factory.mktemp("cache")
    for arguments in (["experiments"], ["show", "benign.thm3.1.3"], RUN, ["show", "features.lem24"]):
        command = [sys.executable, "-m", "karat.cli", *arguments]
        subprocess.run(command, env=environment_of(folder), check=True, capture_output=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "benign.thm3.1.3"],
        ["show", "benign.thm3.1.3", "--json"],
        ["show", "features.lem24"],
        ["claims", "--verdicts"],
        ["experiments"],
        ["experiments", "--paper", "lazy", "--json"],
    ],
)
def test_what_was_looked_up_before_needs_no_torch(arguments, cache):
    code = CODE.format(arguments=arguments)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment_of(cache))
    assert done.returncode == 0, done.stderr
    assert done.stdout


LOADED = """
import sys
import karat
{code}
print(*sorted(sys.modules))
"""


def modules_after(code):
    done = subprocess.run([sys.executable, "-c", LOADED.format(code=code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


ATTACK = """
import torch
net = karat.nets.Linear(torch.ones(3))
karat.attack(net, torch.ones(2, 3), torch.ones(2), karat.Ball(2, 0.1))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "most", "never"),
    [
        ("", 3, {"torch", "numpy"}),
        ("karat.attack", 60, {"scipy.stats"}),
        (ATTACK, 60, {"scipy.stats"}),
        ("karat.certify", 100, set()),
        ("karat.nets.TwoLayer", 30, {"scipy"}),
        ("karat.lab.Store", 40, {"torch"}),
    ],
)
def test_a_name_loads_what_it_needs(code, most, never):
    loaded = modules_after(code)
    heavy = {
        "matplotlib",
        "jinja2",
        "numba",
        "karat.report",
        "karat.study.claim",
        "karat.yours.probe.measure",
    }
    others = set() if "lab" in code else {"sqlite3", "karat.papers", "karat.lab.store"}
    assert not loaded & (heavy | others | never)
    assert len([name for name in loaded if name.partition(".")[0] == "karat"]) <= most


def test_a_name_that_is_not_there_is_an_attribute_error():
    import karat

    with pytest.raises(AttributeError, match=r"module 'karat\.nets' has no attribute 'Nothing'"):
        karat.nets.Nothing  # noqa: B018
    assert {"TwoLayer", "NETS", "init"} <= set(dir(karat.nets))


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
