"""Every index of compiled code lies in its array: the tests of the kernels, run with bounds checks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = (
    "training/test_overflow.py",
    "reductions/span/test_engine.py",
    "reductions/span/test_equality.py",
    "training/test_odd.py",
    "attacks/test_signs.py",
)


@pytest.mark.slow
def test_compiled_code_stays_inside_its_arrays(tmp_path):
    """The checks are part of the machine code, hence a cache of its own beside the usual one."""
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-x",
        *(str(TESTS / f) for f in FILES),
    ]
    done = subprocess.run(command, env=checked, cwd=TESTS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
