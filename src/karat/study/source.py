"""Which source code computed a record: a hash over the files an experiment imports, directly or not."""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.study.experiment import Experiment

_KARAT = Path(__file__).parents[2]

_FIRST: dict[Path, bytes] = {}
"""The hash of every file when this process first read it: before it was imported, as far as can be."""

_SETTLED: set[Path] = set()
"""Files that were still the same after this process had imported them."""

_MODULES: dict[frozenset[str], int] = {}
"""How many modules were loaded when the files behind these ones were last looked at."""


class SourceError(RuntimeError):
    """A file is no longer what this process has read; the message is one line."""


def source_hash(experiment: "Experiment") -> str:
    """Return sixteen hex digits of the SHA-256 of the source behind an experiment, as this process knows it.

    Reading: the files are those of `run` and of the config class with everything they import, read from the
    import statements; of karat and of the folder the experiment's own code lies in, of an installed package
    its own files alone, not of other libraries, whose versions are in the record's environment. Comments
    count: the hash says "other text", not "other results".
    """
    return hash_of(source_modules(experiment))


def source_modules(experiment: "Experiment") -> frozenset[str]:
    """Return the names of the modules that hold `run` and the config class."""
    run = experiment.run
    while isinstance(run, partial):
        run = run.func
    config = type(next(iter(experiment.presets.values())).config)
    return frozenset({getattr(run, "__module__", type(run).__module__), config.__module__})


@cache
def hash_of(modules: frozenset[str]) -> str:
    """Return the hash over these modules and what they import; none of them need be imported."""
    return hashlib.sha256(b"".join(sorted(_scan(file)[0] for file in _closure(modules)))).hexdigest()[:16]


def remember(module: str) -> None:
    """Read the files behind a module that is being imported: what is edited later is then noticed."""
    if module.partition(".")[0] == "karat":  # all read already
        return
    with suppress(SourceError):  # known already, and edited since: whoever asks for the hash is told
        _closure(frozenset({module}))


def require_unchanged(experiment: "Experiment") -> None:
    """Refuse to go on if a file of the experiment was edited between its hash and its import.

    Called before and after a cell, for a cell may import more. Files that were the same after their import
    may be edited as one likes: this process does not read them again.
    """
    modules = source_modules(experiment)
    if _MODULES.get(modules) == len(sys.modules):
        return
    known = [getattr(module, "__dict__", {}).get("__file__") for module in tuple(sys.modules.values())]
    loaded = {file for file in known if isinstance(file, str)}
    for file in _closure(modules) - _SETTLED:
        if str(file) in loaded:
            _read(file)
            _SETTLED.add(file)
    _MODULES[modules] = len(sys.modules)


@cache
def _closure(modules: frozenset[str]) -> frozenset[Path]:
    """The files of these modules and of everything they import."""
    files: set[Path] = set()
    for module in sorted(modules):
        roots = _roots(module)
        waiting = list(_files(module, roots))
        while waiting:
            file = waiting.pop()
            if file not in files:
                files.add(file)
                waiting += [found for name in _scan(file)[1] for found in _files(name, roots)]
    return frozenset(files)


@cache
def _scan(file: Path) -> tuple[bytes, tuple[str, ...]]:
    """Hash of a file, and what it imports."""
    text = _read(file)
    return _FIRST[file], tuple(_imports(file, text))


def _read(file: Path) -> bytes:
    """The text of a file, if it is the one this process read first."""
    try:
        text = file.read_bytes()
    except OSError:
        text = b""
    if _FIRST.setdefault(file, digest := hashlib.sha256(text).digest()) != digest:
        raise SourceError(
            f"{file} was edited after this process had read it; finished cells are kept, start again to go "
            "on with the code as it is now."
        )
    return text


def _root(module: str) -> Path:
    """The folder in which the module's top-level package lies, whether or not it is imported."""
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):  # `__main__` has none
        return _KARAT
    if spec is None:
        return _KARAT
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).parent
    return Path(spec.origin).parent if spec.has_location and spec.origin else _KARAT


def _roots(module: str) -> tuple[tuple[Path, str], ...]:
    """Where the files behind a module may lie: folders, and the one package that counts there if not all do.

    Beside an installed package lie the libraries it uses, torch among them.
    """
    folder, top = _root(module), module.partition(".")[0]
    shared = any(folder.glob("*.dist-info"))
    own = (folder, top if shared else "")
    return own, (_KARAT, "karat")


@cache
def _files(module: str, roots: tuple[tuple[Path, str], ...]) -> tuple[Path, ...]:
    """The module's file and the `__init__.py` of the packages around it, as far as they lie under a root."""
    parts = module.split(".")
    folders = dict.fromkeys(root for root, only in roots if only in ("", parts[0]))
    places = [folder.joinpath(*parts[:end]) for folder in folders for end in range(1, len(parts) + 1)]
    files = [file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))]
    return tuple(file for file in files if file.is_file())


def _imports(file: Path, text: bytes) -> Iterator[str]:
    """Every module a file may import, also inside functions; a name imported from a package may be one."""
    try:
        tree = ast.parse(text)
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


for _file in Path(__file__).parents[1].rglob("*.py"):  # a few milliseconds, before most of karat is imported
    _read(_file)
