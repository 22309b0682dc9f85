"""Every `Ref:` in a docstring of karat points to a numbered place of a paper."""

import ast
import re
from pathlib import Path

import pytest
from references import resolve_ref

import karat

ROOT = Path(karat.__file__).parent


def docstring_refs():
    """(file, reference) of every line "Ref: ..." in a docstring; an open reference ends in ";" or ","."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = re.sub(r"([;,])\s*\n\s*", r"\1 ", ast.get_docstring(node) or "")
                refs = re.findall(r"^\s*Refs?:(.*)$", text, flags=re.MULTILINE)
                found += [(str(path.relative_to(ROOT)), ref.strip()) for ref in refs]
    return found


@pytest.mark.slow
def test_every_reference_resolves():
    broken = {}
    for path, ref in docstring_refs():
        try:
            resolve_ref(ref)
        except ValueError as error:
            broken[f"{path}: {ref}"] = str(error)
    assert not broken


@pytest.mark.slow
def test_the_scan_sees_references():
    assert ("core/norms.py", "lazy, Def 2.1") in docstring_refs()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("benign, Thm 3.1(3)", ("benign.thm3.1.3",)),
        ("benign, Theorem 3.1 (3).", ("benign.thm3.1.3",)),
        ("purification, Thm 5.1(a)", ("purification.thm5.1a",)),
        ("purification, Eq. (F.17)", ("purification.eqF.17",)),
        ("lazy, proof of Thm 3.1", ("lazy.thm3.1",)),
        ("convergence, Eq 4; features, Sec 3.1", ("convergence.eq4", "features.sec3.1")),
        ("features, Asm A1'", ("features.asmA1prime",)),
        ("features, A1'", ("features.A1prime",)),
        ("features, E.3.1", ("features.secE.3.1",)),
        ("features, lem23.lp", ("features.lem23.lp",)),
        ("benign, Asm 1(4)", ("benign.asm1.4",)),
    ],
)
def test_spellings_resolve(text, places):
    assert resolve_ref(text) == places


@pytest.mark.parametrize("text", ["benign, Thm 3.1(9)", "lazy, Lem B.14", "features, the proof", "benign, "])
def test_places_that_do_not_exist_are_refused(text):
    with pytest.raises(ValueError, match="is no numbered place of the paper"):
        resolve_ref(text)


@pytest.mark.parametrize("text", ["Thm 3.1", "someone et al., Thm 3", "", "benign"])
def test_references_without_a_paper_are_refused(text):
    with pytest.raises(ValueError, match="a reference reads 'key, item'"):
        resolve_ref(text)
