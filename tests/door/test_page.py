"""The claim of docs/adding_a_claim.md works as it is printed."""

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_claim.md"
INIT = """
from karat.study.paper import Paper
from karat.study.statement import tabulate

FACTS = {{"title": "T", "authors": ("A",), "venue": "V", "year": 2026, "package": __name__}}
PAPER = Paper(key="mine", statements=tabulate("mine", {table!r}), **FACTS)
"""


def pieces():
    """What the page prints for the statement, the experiment and the check, as of a paper `mine`."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^( *)```(?:text|python)\n(.*?)^\1```", text, flags=re.MULTILINE | re.DOTALL)
    statement, experiment, check = (
        dedent(block).replace("karat.papers.benign", "mine").replace("benign", "mine") for _, block in blocks
    )
    return statement, experiment, check


@pytest.mark.slow
def test_the_claim_of_the_page_holds_fails_where_it_should_and_keeps_the_contract(site):
    statement, experiment, check = pieces()
    home = site.package("mine", __init__=INIT.format(table=statement))
    for room, text in (("experiments", experiment), ("checks", check)):
        (home / f"{room}.py").unlink()
        (home / room).mkdir()
        (home / room / "__init__.py").touch()
        (home / room / "noise.py").write_text(text)
    command = ("check", "mine.noise", "--scale", "tiny", "--workers", "0", "--json")
    claim = json.loads(site.karat(*command).stdout)
    assert claim["verdict"] == "holds"
    assert [control["holds"] for control in claim["controls"]] == [False]
    assert json.loads(site.karat(*command, "--set", "common=1").stdout)["verdict"] == "fails"
    done = site.karat("contract", "mine")
    assert (done.returncode, done.stdout) == (
        0,
        "subject\tlevel\trule\twhat was seen\n`mine` keeps the contract.\n",
    )
