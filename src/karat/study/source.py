"""Which source code computed a record: a hash over the files an experiment imports, directly or not."""

import ast
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from karat.errors import SourceError
from karat.lazy import exports, only_for_types

if TYPE_CHECKING:
    from karat.study.experiment import Experiment

_KARAT = Path(__file__).parents[2]

_FIRST: dict[Path, bytes] = {}
"""The hash of every file when this process first read it: before it was imported, as far as can be."""

_SETTLED: set[Path] = set()
"""Files that were still the same after this process had imported them."""

_MODULES: dict[frozenset[str], int] = {}
"""How many modules were loaded when the files behind these ones were last looked at."""


def source_hash(experiment: "Experiment") -> str:
    """Return sixteen hex digits of the SHA-256 of the source behind an experiment, as this process knows it.

    Reading: the files are those of `run` and of the config class with everything they import, read from the
    import statements; of karat and of the folder the experiment's own code lies in (of an installed package
    its own files alone), not of other libraries, whose versions are in the record's environment. Comments
    count: the hash says "other text", not "other results". In karat a name imported from a package leads to
    the module it comes from, not to neighbours: karat's packages only hand on names, which a test checks. A
    package used as a whole counts as a whole.
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
    counted: set[Path] = set()
    for module in sorted(modules):
        root = _root(module)
        met: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name not in met:
                met.add(name)
                files, further = _behind(name, module, root)
                counted.update(files)
                waiting += further
    return frozenset(counted)


def _behind(name: str, module: str, root: Path) -> tuple[tuple[Path, ...], list[str]]:
    """The files behind a name that counts for a module, and the names they import."""
    top = name.partition(".")[0]
    if top == "karat":
        return _behind_karat(name)
    # Beside an installed package lie strangers, beside a script the rest of its author's work.
    if top != module.partition(".")[0] and _is_shared(root):
        return (), []
    files = _files(name, root)
    return files, [found for file in files for found in _scan(file)[1].executed]


@cache
def _is_shared(root: Path) -> bool:
    """Whether packages are installed in this folder."""
    return any(root.glob("*.dist-info"))


def _behind_karat(name: str) -> tuple[tuple[Path, ...], list[str]]:
    """The file behind a name of karat; where a package hands it on, nothing but where it comes from."""
    *_, file = _files(name, _KARAT)
    imports = _scan(file)[1]
    if file.name != "__init__.py":
        return (file,), list(imports.executed)
    package = ".".join(file.relative_to(_KARAT).parent.parts)
    attribute = name.removeprefix(package).removeprefix(".")
    if attribute in imports.exported:
        return (), [f"{imports.exported[attribute]}.{attribute}"]
    # The package as a whole, or what its own file defines.
    return (file,), [*imports.executed, *(f"{home}.{found}" for found, home in imports.exported.items())]


@dataclass(frozen=True)
class _Imports:
    """The imports of one file.

    Args:
        executed: every module it may import, also in functions; what is imported from a package may be one.
        exported: names it takes from modules, loaded at once or when first used -> the module.
    """

    executed: tuple[str, ...] = ()
    exported: dict[str, str] = field(default_factory=dict)


@cache
def _scan(file: Path) -> tuple[bytes, _Imports]:
    """Hash of a file, and what it imports."""
    text = _read(file)
    return _FIRST[file], _imports(file, text)


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


def _imports(file: Path, text: bytes) -> _Imports:
    """Return the imports of a file with this text; a text that is no Python imports nothing."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a file that nothing could import so far
        return _Imports()
    return _Imports(tuple(_executed(file, tree)), dict(exports(tree)))


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


@cache
def _files(name: str, root: Path) -> tuple[Path, ...]:
    """The files on the way to a name below a root: `__init__.py` of packages around it, then its module."""
    parts = name.split(".")
    places = [root.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]
    files = [file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))]
    return tuple(file for file in files if file.is_file())


for _file in Path(__file__).parents[1].rglob("*.py"):  # a few milliseconds, before most of karat is imported
    _read(_file)
