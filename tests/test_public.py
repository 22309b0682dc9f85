"""The names karat promises."""

import subprocess
import sys

import pytest

import karat


@pytest.mark.slow
def test_every_public_name_is_there_in_a_new_interpreter():
    code = "import karat\nfor name in karat.__all__: getattr(karat, name)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_claim_is_checked_from_python(tmp_path):
    claim = karat.check("features.lem24", scale="tiny", seeds=3, store=tmp_path / "store.sqlite", workers=0)
    assert claim.verdict == "holds"
    assert claim.seeds == 3
    stated = karat.check("benign.def2.1")
    assert stated.verdict is None
