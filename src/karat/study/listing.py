"""Which statements of a paper have a check, read from the source: what judges them needs torch."""

import ast
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

from karat.study.paper import Paper


def listed_checks(paper: Paper, known: Collection[str]) -> frozenset[str]:
    """Claim ids of the checks in a paper's room `checks`; they may judge a statement of another paper.

    Args:
        paper: whose checks are read.
        known: ids of all statements.

    Reading: a module lists its checks in a tuple CHECKS of calls, each with the claim's id, or its item
        behind the paper's key, as a literal: `claim_id=` or the first argument. A test compares this list
        with the checks themselves.
    """
    found = {name for file in _files(f"{paper.package}.checks") for name in _first_words(file)}
    return frozenset(name for name in (*found, *(f"{paper.key}.{name}" for name in found)) if name in known)


def _files(module: str) -> Iterator[Path]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return
    file = Path(spec.origin)
    yield from sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else (file,)


def _first_words(file: Path) -> Iterator[str]:
    """Literals in the place of an id, in the calls below CHECKS."""
    for node in ast.walk(_checks(ast.parse(file.read_bytes()))):
        if isinstance(node, ast.Call):
            named = [keyword.value for keyword in node.keywords if keyword.arg == "claim_id"]
            for argument in [*named, *node.args[:1]]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def _checks(module: ast.Module) -> ast.AST:
    """The value assigned to CHECKS, or nothing."""
    for statement in module.body:
        if isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == [
            "CHECKS"
        ]:
            return statement.value
    return ast.Tuple(elts=[])
