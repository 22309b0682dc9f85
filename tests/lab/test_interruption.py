"""A driver killed or interrupted in the middle of a sweep, and the command that resumes."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from karat_toys import TOY

from karat.lab import Store, run_cells
from karat.study.experiment import cells

PATIENCE = 120.0


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the sweep does not come along"
        time.sleep(0.02)


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to watch processes")
@pytest.mark.parametrize(
    ("sign", "code"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
    ],
)
def test_a_sweep_cut_short_loses_nothing_and_resumes_to_the_same_bits(tmp_path, sign, code):
    log, path = tmp_path / "log", tmp_path / "store.sqlite"
    settings = {"pause": "0.15", "log": str(log)}
    wanted = cells(TOY, "quick", overrides=settings)
    assert len(wanted) == 12
    command = [sys.executable, "-m", "karat.cli", "run", TOY.name, "--scale", "quick", "--store", str(path)]
    command += [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    driver = subprocess.Popen(
        [*command, "--workers", "1"],
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(lines(log)) >= 5 or driver.poll() is not None)
    driver.send_signal(sign)
    _, said = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == code, said
    wait_until(lambda: not any(alive(line.split()[2]) for line in lines(log)))

    with Store(path) as store:
        kept = len(wanted) - len(store.missing(wanted))
        assert 3 <= kept < len(wanted)
        if sign != signal.SIGKILL:
            word = "interrupted" if sign == signal.SIGINT else f"ended by {sign.name}"
            assert f"karat: {word}; {kept} of 12 cells are finished and kept in {path}" in said
            assert "Traceback" not in said
        begun = Counter(tuple(line.split()[:2]) for line in lines(log))
        resumed = run_cells(wanted, store, workers=0)
        again = Counter(tuple(line.split()[:2]) for line in lines(log)) - begun
    assert sum(again.values()) == len(wanted) - kept

    with Store(tmp_path / "uninterrupted.sqlite") as store:
        whole = run_cells(wanted, store, workers=0)
    assert [(r.key, r.values) for r in resumed] == [(r.key, r.values) for r in whole]


PROGRAM = """
import os, signal, sys
from karat.cli import main, signals

def hit():
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            hit()

sys.meta_path.insert(0, Finder())
{more}
sys.argv = ["karat", "run", "karat_toys:TOY", "--scale", "tiny", "--workers", "0", "--store", {store!r}]
sys.exit(main.main())
"""

AGAIN = """
from karat.lab import Store
signals._DOUBLE = 0.0
Store.put = lambda store, record: hit()
Store.missing_before = Store.missing
Store.missing = lambda store, *rest: (signals._received and hit(), store.missing_before(*rest))[1]
"""


def program(tmp_path, module="", more=""):
    code = PROGRAM.format(module=module, more=more, store=str(tmp_path / "store.sqlite"))
    return subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "karat.cli.sweep", "torch", "torch.nn", "karat.lab.store"])
def test_ctrl_c_during_an_import_is_one_line(tmp_path, module):
    done = program(tmp_path, module)
    assert done.returncode == 130
    assert done.stderr == "karat: interrupted.\n"


@pytest.mark.slow
def test_ctrl_c_that_a_library_loses_while_it_is_imported_ends_the_command_before_it_computes(tmp_path):
    done = program(tmp_path, "numpy")
    assert done.returncode == 130
    assert done.stderr.startswith("karat: interrupted")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_at_once_with_one_line(tmp_path):
    done = program(tmp_path, more=AGAIN)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == (
        "karat: ended at once; finished cells are kept, the same command resumes."
    )
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_ctrl_c_after_the_command_is_over_changes_nothing(tmp_path):
    done = program(tmp_path, more="import atexit; atexit.register(hit)")
    assert done.returncode == 0
    assert "records" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        pytest.param(
            ">/dev/full",
            1,
            "karat: standard output cannot be written (No space left on device); "
            "what was computed is kept in the store.",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full"),
        ),
    ],
)
def test_cells_are_kept_when_standard_output_is_closed_or_full(tmp_path, output, code, said):
    path = tmp_path / "store.sqlite"
    command = f"{sys.executable} -m karat.cli run {TOY.name} --scale tiny --workers 0 --store {path} {output}"
    done = subprocess.run(command, shell=True, env=environment(), capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
    assert [line for line in done.stderr.splitlines() if " cells" not in line] == [said][: bool(said)]
    with Store(path) as store:
        assert store.missing(cells(TOY, "tiny")) == []
