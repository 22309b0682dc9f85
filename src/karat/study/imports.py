"""What a source file imports, read from its text without running it."""

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from karat.lazy import exports, only_for_types


@dataclass(frozen=True)
class Imports:
    """The imports of one file.

    Args:
        executed: every module it may import, also in functions; what is imported from a package may be one.
        exported: names it takes from modules, loaded at once or when first used -> the module.
    """

    executed: tuple[str, ...] = ()
    exported: dict[str, str] = field(default_factory=dict)


def imports_of(file: Path, text: bytes) -> Imports:
    """Return the imports of a file with this text; a text that is no Python imports nothing."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a file that nothing could import so far
        return Imports()
    return Imports(tuple(_executed(file, tree)), dict(exports(tree)))


def _executed(file: Path, tree: ast.AST) -> Iterator[str]:
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                if alias.asname is None:  # `import karat.core` gives the name `karat`, hence all of it
                    yield alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            home = _absolute(file, node)
            yield from (f"{home}.{alias.name}" for alias in node.names)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers see."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.orelse if only_for_types(node) else ast.iter_child_nodes(node)


def _absolute(file: Path, node: ast.ImportFrom) -> str:
    """The module that an import names, with leading dots resolved."""
    if node.level == 0:
        return node.module or ""
    package = _package(file.parents[node.level - 1])
    return ".".join([*package, *([node.module] if node.module else [])])


def _package(folder: Path) -> list[str]:
    """The dotted name of a folder of modules: up to the last `__init__.py`, or to a folder of `sys.path`."""
    names = [folder.name]
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
        names.insert(0, folder.name)
    # Packages without an `__init__.py` have no other end than the path on which they are found.
    above = [place for place in map(os.path.realpath, sys.path) if folder.parent.is_relative_to(place)]
    if not above:
        return names
    return [*folder.parent.relative_to(max(above, key=len)).parts, *names]
