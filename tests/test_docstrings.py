"""Arguments are documented one per line and all of them, so that Sphinx and editors can read them."""

import ast
import re
from pathlib import Path

import pytest

import karat

ROOT = Path(karat.__file__).parent
FOLDERS = sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists())
ENTRY = re.compile(r"\*{0,2}([A-Za-z_]\w*): \S")
MOST = 2
"""Public functions with more parameters must document them."""


def entries(docstring):
    """The lines that begin an entry of the block `Args:`, or None without such a block."""
    lines = docstring.split("\n")
    starts = [index for index, line in enumerate(lines) if line.strip() == "Args:"]
    if not starts:
        return None
    base = indent_of(lines[starts[0]])
    block = []
    for line in lines[starts[0] + 1 :]:
        if not line.strip() or indent_of(line) <= base:
            break
        block.append(line)
    first = indent_of(block[0]) if block else 0
    return [line.strip() for line in block if indent_of(line) == first]


def indent_of(line):
    return len(line) - len(line.lstrip())


def parameters(node):
    """What a function or a class is called with, as far as its own text says."""
    if isinstance(node, ast.ClassDef):
        makers = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
        decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
        named = any(ast.unparse(base).startswith("NamedTuple") for base in node.bases)
        if named or any("dataclass" in decorator for decorator in decorators):
            return [item.target.id for item in node.body if is_field(item)]
        return parameters(makers[0]) if makers else []
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def is_field(item):
    if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
        return False
    return "ClassVar" not in ast.unparse(item.annotation) and "init=False" not in ast.unparse(item)


def faults_of(node, public):
    """What is wrong with the arguments in one docstring."""
    wanted, found = parameters(node), entries(ast.get_docstring(node) or "")
    if any("overload" in ast.unparse(decorator) for decorator in node.decorator_list):
        return
    if found is None:
        if public and len(wanted) > MOST:
            yield f"has no Args for {', '.join(wanted)}"
        return
    names = [match.group(1) if (match := ENTRY.match(line)) else None for line in found]
    for line, name in zip(found, names, strict=True):
        if name is None:
            yield f"has an entry that is not `name: text`: {line[:60]}"
    missing = [name for name in wanted if name not in names]
    if missing:
        yield f"does not document {', '.join(missing)}"
    unknown = [name for name in names if name and name not in wanted]
    inherits = isinstance(node, ast.ClassDef) and node.bases
    if unknown and not inherits:
        yield f"documents {', '.join(unknown)}, which it does not take"


def walk(node, public=True, owner=""):
    """Every class and function with its name and whether it is public; not what functions define inside."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            open_to_all = public and not child.name.startswith("_")
            yield child, f"{owner}{child.name}", open_to_all
            if isinstance(child, ast.ClassDef):
                yield from walk(child, open_to_all, f"{owner}{child.name}.")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_argument_is_documented_on_its_own_line(folder):
    faults = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node, name, public in walk(ast.parse(file.read_text(encoding="utf-8"))):
            faults += [f"{file.relative_to(ROOT)}: {name} {fault}" for fault in faults_of(node, public)]
    assert faults == []


def test_faults_are_found():
    text = '''
def run_on(x, y):
    """Do.

    Args:
        x: one; y: another.
    """

def bare(x, y, z):
    """Do."""

def wrong(x):
    """Do.

    Args:
        x, y: both.
    """
'''
    found = [fault for node, _, public in walk(ast.parse(text)) for fault in faults_of(node, public)]
    assert found == [
        "does not document y",
        "has no Args for x, y, z",
        "has an entry that is not `name: text`: x, y: both.",
        "does not document x",
    ]
