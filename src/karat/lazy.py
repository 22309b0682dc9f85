"""Packages whose names are loaded when first used; the names stand in the imports for type checkers.

Not `lazy_loader`: it reads the names from a second list, strings or a `.pyi` stub of relative imports, while
here type checkers, the loader and the source hash of records (`study/source.py`) read the same lines.
"""

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports its names under `if TYPE_CHECKING` only.

    A name must not be that of a module of the package as well: whoever imports the module replaces the name.

    Args:
        package: its `__name__`.
    """

    @cache
    def homes() -> dict[str, str]:
        text = Path(str(sys.modules[package].__file__)).read_bytes()
        return dict(exports(ast.parse(text)))

    def load(name: str) -> Any:
        # Dunder names are asked for by the import system itself, of every package.
        home = None if name.startswith("__") else homes().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            value: Any = importlib.import_module(f"{package}.{name}")
        else:
            value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes()})

    return load, listed


def exports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a package takes from modules, eagerly or for type checkers, each with its home.

    >>> dict(exports(ast.parse("if TYPE_CHECKING:\\n    from karat.core.ball import Ball")))
    {'Ball': 'karat.core.ball'}
    """
    for statement in tree.body:
        for node in statement.body if only_for_types(statement) else [statement]:
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                yield from ((alias.asname or alias.name, str(node.module)) for alias in node.names)


def only_for_types(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether this is an `if TYPE_CHECKING`, whose body never runs."""
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
