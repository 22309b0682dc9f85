"""The shell completes commands, choices, and the names that karat knows."""

import os
import subprocess
import sys

import pytest

CODE = "import sys; from karat.cli.main import main; sys.exit(main())"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["karat", "repr"], {"reproduce"}),
        (["karat", "check", "benign.thm3.1."], {"benign.thm3.1.1", "benign.thm3.1.2", "benign.thm3.1.3"}),
        (["karat", "run", "lazy.fig"], {"lazy.fig2", "lazy.fig5"}),
        (["karat", "run", "lazy.fig2", "--scale", ""], {"tiny", "quick", "full"}),
        (["karat", "claims", "--paper", "b"], {"benign"}),
        (["karat", "store", "export", "--format", "j"], {"jsonl"}),
    ],
)
def test_what_the_shell_is_told(typed, expected, tmp_path):
    environment = {
        "_KARAT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(typed),
        "COMP_CWORD": str(len(typed) - 1),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=os.environ | environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert expected <= set(done.stdout.split())


@pytest.mark.parametrize(
    ("command", "choices"),
    [
        (["run"], ["tiny|quick|full", "local|dask"]),
        (["reproduce"], ["theory|images|all"]),
        (["table"], ["md|csv"]),
        (["store", "export"], ["csv|jsonl|parquet", "done|diverged|failed"]),
        (["sweep"], ["gaussian|bounded"]),
        (["certify"], ["1|2|inf"]),
    ],
)
def test_help_lists_the_choices(karat, command, choices, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = karat(*command, "--help").out
    assert all(choice in text for choice in choices)
    assert "Args:" not in text
