"""Which statements of a paper have a check, read from the source: what judges them needs torch."""

import ast
from collections.abc import Collection, Iterable, Iterator
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
    found = {name for call in _calls(paper) for name in _literals([*_claim_id(call), *call.args[:1]])}
    return frozenset(name for name in (*found, *(f"{paper.key}.{name}" for name in found)) if name in known)


def unknown_checks(paper: Paper, known: Collection[str]) -> frozenset[str]:
    """Claim ids that a paper's checks name with `claim_id=` and no paper states."""
    found = {name for call in _calls(paper) for name in _literals(_claim_id(call))}
    return frozenset(name for name in found if name not in known and f"{paper.key}.{name}" not in known)


def _files(module: str) -> Iterator[Path]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return
    file = Path(spec.origin)
    yield from sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else (file,)


def _calls(paper: Paper) -> Iterator[ast.Call]:
    """The calls below CHECKS."""
    for file in _files(f"{paper.package}.checks"):
        for node in ast.walk(_checks(ast.parse(file.read_bytes(), str(file)))):
            if isinstance(node, ast.Call):
                yield node


def _claim_id(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords if keyword.arg == "claim_id"]


def _literals(arguments: Iterable[ast.expr]) -> Iterator[str]:
    """Texts in the place of an id."""
    for argument in arguments:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value


def _checks(module: ast.Module) -> ast.AST:
    """The value assigned to CHECKS, or nothing."""
    for statement in module.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if [ast.unparse(target) for target in targets] == ["CHECKS"]:
                return statement.value
    return ast.Tuple(elts=[])
