"""The shape of the source tree: imports point downwards, files and functions stay short, house rules hold."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import karat
from karat.lazy import exports, only_for_types

ROOT = Path(karat.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# From the bottom up. A layer imports layers of lower rows only: members of one row do not know each other.
ROWS = (
    ("version", "errors", "lazy"),
    ("core",),
    ("data", "nets", "attacks"),
    ("training",),
    ("reductions",),
    ("probes", "certificates"),
    ("study",),
    ("lab",),
    ("papers",),
    ("report",),
    ("yours", "api", "contract"),
    ("cli",),
    ("__init__",),
)
HEIGHT = {layer: height for height, row in enumerate(ROWS) for layer in row}
# Layers that see less than everything below them; the lowest row is for all.
ONLY = {
    layer: {*ROWS[0], *seen}
    for layer, seen in {
        "attacks": ("core",),
        "data": ("core",),
        "nets": ("core",),
        "study": ("core",),
        "lab": ("core", "study"),
        "report": ("core", "study", "lab"),
    }.items()
}
MODULE_LINES = 400
FUNCTION_LINES = 60


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def nodes(kind: type | tuple[type, ...]) -> Iterator[tuple[Path, ast.AST]]:
    for file in FILES:
        yield from ((file, node) for node in ast.walk(tree(file)) if isinstance(node, kind))


def place(file: Path, node: ast.AST) -> str:
    return f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def layer_of(file: Path) -> str:
    return file.relative_to(ROOT).with_suffix("").parts[0]


def absolute(file: Path, node: ast.ImportFrom) -> str:
    """The module an import names, with leading dots resolved."""
    if node.level == 0:
        return node.module or ""
    package = ("karat", *file.relative_to(ROOT).parent.parts)
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def imported_modules(file: Path, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    module = absolute(file, node)
    # `from karat import x` imports the layer x; from anywhere deeper the module itself says the layer.
    yield from (f"karat.{alias.name}" for alias in node.names) if module == "karat" else (module,)


def imported_layers() -> Iterator[tuple[Path, ast.AST, str]]:
    """Every import of one layer by another, also those inside functions and under TYPE_CHECKING."""
    for file, node in nodes((ast.Import, ast.ImportFrom)):
        assert isinstance(node, ast.Import | ast.ImportFrom)
        for module in imported_modules(file, node):
            top, _, rest = module.partition(".")
            if top == "karat":
                layer = rest.partition(".")[0] or "__init__"
                yield file, node, layer if layer in HEIGHT else "__init__"


def test_every_folder_and_module_has_its_place_in_the_order():
    assert {layer_of(file) for file in FILES} - set(HEIGHT) == set()


@pytest.mark.slow
def test_imports_point_downwards():
    offences = [
        f"{place(file, node)} imports {layer}"
        for file, node, layer in imported_layers()
        if layer != layer_of(file) and HEIGHT[layer] >= HEIGHT[layer_of(file)]
    ]
    assert offences == []


@pytest.mark.slow
@pytest.mark.parametrize("layer", ONLY)
def test_some_layers_see_only_what_they_need(layer):
    offences = [
        f"{place(file, node)} imports {other}"
        for file, node, other in imported_layers()
        if layer_of(file) == layer and other not in {layer, *ONLY[layer]}
    ]
    assert offences == []


ROOMS = {"__init__": 5, "statements": 0, "experiments": 2, "checks": 3, "figures": 4, "tables": 4}
"""The order inside a paper; what else there is (bounds, printed tables) lies below experiments."""


def room_of(module: str) -> tuple[str, int]:
    """The paper of a module "karat.papers.KEY.ROOM..." and the height of its room."""
    key, _, rest = module.removeprefix("karat.papers.").partition(".")
    return key, ROOMS.get(rest.partition(".")[0] or "__init__", 1)


def paper_imports() -> Iterator[tuple[Path, ast.AST, str, str]]:
    """Every import of one module of the papers by another: place, importer, imported."""
    for file, node in nodes((ast.Import, ast.ImportFrom)):
        assert isinstance(node, ast.Import | ast.ImportFrom)
        importer = ".".join(("karat", *file.relative_to(ROOT).with_suffix("").parts))
        for module in imported_modules(file, node):
            names = [f"{module}.{alias.name}" for alias in node.names] if module.count(".") == 2 else [module]
            for name in names:
                if importer.startswith("karat.papers.") and name.startswith("karat.papers."):
                    yield file, node, importer, name


def test_inside_a_paper_statements_come_before_bounds_experiments_checks_and_figures():
    offences = [
        f"{place(file, node)} imports {imported}"
        for file, node, importer, imported in paper_imports()
        if room_of(imported)[1] > room_of(importer)[1]
    ]
    assert offences == []


def test_a_paper_knows_another_one_only_by_its_bounds_and_experiments():
    # Cross-examination runs one paper's setting in another; verdicts and figures stay apart.
    offences = [
        f"{place(file, node)} imports {imported}"
        for file, node, importer, imported in paper_imports()
        if room_of(imported)[0] != room_of(importer)[0] and room_of(imported)[1] not in (1, 2)
    ]
    assert offences == []


def test_only_the_registry_reaches_into_papers():
    offences = [
        f"{place(file, node)} imports {layer}"
        for file, node, layer in imported_layers()
        if layer == "papers" and layer_of(file) not in ("papers", "__init__")
    ]
    assert offences == []


def hands_on_names(node: ast.stmt) -> bool:
    """Docstring, imports (at once, or for types with `attach` as the other branch), `__all__`, PAPER."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom() | ast.Import():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[attaching]):
            names = "__getattr__, __dir__ = attach(__name__)"
            return all(map(hands_on_names, body)) and ast.unparse(attaching) == ast.unparse(ast.parse(names))
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in ("__all__", "PAPER")
    return False


def test_packages_only_hand_on_names():
    # The hash of a record's source passes through them: what they did or defined would not count.
    offences = [
        place(file, node)
        for file in FILES
        if file.name == "__init__.py"
        for node in tree(file).body
        if not hands_on_names(node)
    ]
    assert offences == []


def test_no_name_that_is_loaded_late_is_also_a_module():
    # Whoever imports the module would put it in the place of the name.
    offences = []
    for file in FILES:
        late = [node for node in tree(file).body if only_for_types(node)]
        if file.name == "__init__.py" and late:
            package = ".".join(("karat", *file.relative_to(ROOT).parent.parts))
            names = dict(exports(ast.Module(body=late, type_ignores=[])))
            modules = {one.stem for one in file.parent.glob("*.py")} | {
                one.parent.name for one in file.parent.glob("*/__init__.py")
            }
            offences += [
                f"{package}.{name}" for name, home in names.items() if name in modules and home != package
            ]
    assert offences == []


def test_there_are_no_star_imports():
    assert [place(file, node) for file, node in nodes(ast.alias) if getattr(node, "name", "") == "*"] == []


def test_no_module_is_longer_than_400_lines():
    long = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert {name: lines for name, lines in long.items() if lines > MODULE_LINES} == {}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its decorators and its docstring."""
    first, documented = function.body[0], ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_no_function_has_more_than_60_lines_of_code():
    offences = []
    for file, node in nodes((ast.FunctionDef, ast.AsyncFunctionDef)):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if code_lines(node) > FUNCTION_LINES:
            offences.append(f"{place(file, node)} {node.name}: {code_lines(node)} lines")
    assert offences == []


def own_names(node: ast.AST) -> Iterator[str]:
    """Names this code chooses itself; attributes and keywords of other libraries, `finfo.eps`, are theirs."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.alias(asname=str(name)):
            yield name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


@pytest.mark.slow
def test_nothing_is_named_eps():
    assert [place(file, node) for file, node in nodes(ast.AST) if "eps" in own_names(node)] == []


STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}


def writes_to_the_terminal(call: ast.Call) -> bool:
    """A print to a file that was handed in, such as the pipe between processes, is not a print."""
    if isinstance(call.func, ast.Name) and call.func.id == "print":
        files = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == "file"]
        return files == [] or files[0] in STREAMS
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in STREAMS


def test_the_library_prints_nothing():
    offences = []
    for file, node in nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if layer_of(file) != "cli" and writes_to_the_terminal(node):
            offences.append(place(file, node))
    assert offences == []


@pytest.mark.parametrize(
    ("source", "writes"),
    [
        ("print(x)", True),
        ("print(x, file=sys.stderr)", True),
        ("sys.stdout.write(x)", True),
        ("print(x, file=pipe)", False),
        ("pipe.write(x)", False),
    ],
)
def test_the_scan_for_prints_tells_the_terminal_from_a_file(source, writes):
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert writes_to_the_terminal(call) is writes


GLOBAL_RANDOMNESS = {"torch.manual_seed", "np.random.seed", "numpy.random.seed", "random.seed"}


def test_nothing_seeds_the_global_generators():
    offences = []
    for file, node in nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if ast.unparse(node.func) in GLOBAL_RANDOMNESS:
            offences.append(place(file, node))
    assert offences == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("eps = 1", ["eps"]),
        ("def f(eps): pass", ["f", "eps"]),
        ("torch.finfo(dtype).eps", ["torch", "dtype"]),
        ("self.eps = 1", ["self", "eps"]),
        ("layer(eps=1e-5)", ["layer"]),
    ],
)
def test_the_scan_for_names_sees_its_own_names_only(source, names):
    found = [name for node in ast.walk(ast.parse(source)) for name in own_names(node)]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import karat.core.ball", ["karat.core.ball"]),
        ("from karat import nets, data", ["karat.nets", "karat.data"]),
        ("from karat.core import Ball", ["karat.core"]),
        ("from . import sibling", ["karat.attacks"]),
        ("from ..nets import Linear", ["karat.nets"]),
        ("from .. import nets", ["karat.nets"]),
        ("import torch", ["torch"]),
    ],
)
def test_the_scan_for_imports_resolves_every_spelling(source, modules):
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.Import | ast.ImportFrom)
    assert list(imported_modules(ROOT / "attacks" / "pgd.py", node)) == modules
