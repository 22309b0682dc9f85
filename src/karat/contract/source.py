"""What the source of a package shows: outcomes are made by the rules of karat alone."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from karat.contract.fault import Fault
from karat.study.paper import Paper

_JUDGED = frozenset({"outcome", "verdict", "leaning", "p_value", "interval"})
"""What only `karat.study.judging` may set."""


def source_faults(paper: Paper) -> Iterator[Fault]:
    """Yield places where a module of the package sets an outcome by hand.

    Args:
        paper: whose package is read; one without files has nothing to read.
    """
    try:
        found = importlib.util.find_spec(paper.package)
    except (ImportError, ValueError):  # made up, or broken: the imports are judged elsewhere
        return
    for folder in (found.submodule_search_locations or ()) if found else ():
        for file in sorted(Path(folder).rglob("*.py")):
            try:
                lines = made_by_hand(file.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):  # its imports are judged elsewhere
                continue
            for line in lines:
                reason = f"{file.name}, line {line} sets an outcome; only `karat.study.judging` may."
                yield Fault(subject=paper.key, rule="outcome by hand", reason=reason)


def made_by_hand(source: str) -> list[int]:
    """Lines that build a `Finding`, or name what only the rules may set.

    Args:
        source: of a module.

    >>> made_by_hand("replace(finding, **{'outcome': 'holds'})"), made_by_hand("replace(config, d=3)")
    ([1], [])
    """
    lines = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rsplit(".", 1)[-1]
        named = {keyword.arg for keyword in node.keywords}
        hidden = {
            key.value
            for keyword in node.keywords
            if keyword.arg is None and isinstance(keyword.value, ast.Dict)
            for key in keyword.value.keys
            if isinstance(key, ast.Constant)
        }
        if name == "Finding" or (name == "replace" and (named | hidden) & _JUDGED):
            lines.add(node.lineno)
    return sorted(lines)
