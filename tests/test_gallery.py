"""Every gallery script runs at its tiny size and leaves a picture."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "gallery").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws_at_tiny_size(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(script), "--scale", "tiny", "--out", str(tmp_path)]
    environment = {**os.environ, "KARAT_STORE": str(tmp_path / "store.sqlite"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*.png")) or list(tmp_path.rglob("*.gif"))


def test_there_is_a_gallery() -> None:
    assert SCRIPTS
