"""Which source code computed a record: a hash over the files an experiment imports, directly or not."""

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.experiments.experiment import Experiment

_KARAT = Path(__file__).parents[2]


def source_hash(experiment: "Experiment") -> str:
    """Return sixteen hex digits of the SHA-256 of the source behind an experiment.

    Reading: the files are those of `run` and of the config class with everything they import, read from the
    import statements; of karat and of the folder the experiment's own code lies in, not of other libraries,
    whose versions are in the record's environment. Comments count: the hash says "other text", not "other
    results".
    """
    run = experiment.run
    while isinstance(run, partial):
        run = run.func
    config = type(next(iter(experiment.presets.values())).config)
    return _hash(frozenset({getattr(run, "__module__", type(run).__module__), config.__module__}))


@cache
def _hash(modules: frozenset[str]) -> str:
    files: dict[Path, bytes] = {}
    for module in sorted(modules):
        roots = (_root(module), _KARAT)
        waiting = list(_files(module, roots))
        while waiting:
            file = waiting.pop()
            if file not in files:
                files[file], imports = _scan(file)
                waiting += [found for name in imports for found in _files(name, roots)]
    return hashlib.sha256(b"".join(sorted(files.values()))).hexdigest()[:16]


@cache
def _scan(file: Path) -> tuple[bytes, tuple[str, ...]]:
    """Hash of a file, and what it imports."""
    return hashlib.sha256(file.read_bytes()).digest(), tuple(_imports(file))


def _root(module: str) -> Path:
    """The folder in which the module's top-level package lies."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).parents[module.count(".")] if file else _KARAT


@cache
def _files(module: str, roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """The module's file and the `__init__.py` of the packages around it, as far as they lie under a root."""
    parts = module.split(".")
    places = [
        root.joinpath(*parts[:end]) for root in dict.fromkeys(roots) for end in range(1, len(parts) + 1)
    ]
    files = [file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))]
    return tuple(file for file in files if file.is_file())


def _imports(file: Path) -> Iterator[str]:
    """Every module a file may import, also inside functions; a name imported from a package may be one."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:  # a file that nothing could import so far
        return
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = _absolute(file, node)
            yield from (f"{home}.{alias.name}" for alias in node.names)


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers see."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _absolute(file: Path, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    folder = file.parents[node.level - 1]
    package = [folder.name]
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
        package.insert(0, folder.name)
    return ".".join([*package, *([node.module] if node.module else [])])
