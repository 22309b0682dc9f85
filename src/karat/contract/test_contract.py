"""`pytest --pyargs karat.contract`: installed packages of other people, or the papers of KARAT_CONTRACT."""

import os

import pytest

from karat.contract import paper_at, violations
from karat.study.registry import BROKEN, PAPERS

NAMED = [name for name in os.environ.get("KARAT_CONTRACT", "").split(",") if name]
OTHERS = [key for key, paper in PAPERS.items() if not paper.package.startswith("karat.papers.")]


@pytest.mark.parametrize("name", NAMED or OTHERS)
def test_the_package_keeps_the_contract(name: str) -> None:
    """Nothing is wrong with it."""
    assert violations(paper_at(name)) == []


def test_no_installed_package_is_broken() -> None:
    """All could be imported, and no key is taken twice."""
    assert [str(fault) for fault in BROKEN] == []
