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

from karat.experiments.experiment import cells
from karat.lab import Store, run_cells

PATIENCE = 120.0


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


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to watch processes")
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_sweep_cut_short_loses_nothing_and_resumes_to_the_same_bits(tmp_path, sign, code):
    log, path = tmp_path / "log", tmp_path / "store.sqlite"
    settings = {"pause": "0.15", "log": str(log)}
    wanted = cells(TOY, "quick", overrides=settings)
    assert len(wanted) == 12
    command = [sys.executable, "-m", "karat.cli", "run", TOY.name, "--scale", "quick", "--store", str(path)]
    command += [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    driver = subprocess.Popen(
        [*command, "--workers", "1"],
        env=environment,
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
        if sign == signal.SIGINT:
            assert f"karat: interrupted; {kept} of 12 cells are finished and kept in {path}" in said
            assert "Traceback" not in said
        begun = Counter(tuple(line.split()[:2]) for line in lines(log))
        resumed = run_cells(wanted, store, workers=0)
        again = Counter(tuple(line.split()[:2]) for line in lines(log)) - begun
    assert sum(again.values()) == len(wanted) - kept

    with Store(tmp_path / "uninterrupted.sqlite") as store:
        whole = run_cells(wanted, store, workers=0)
    assert [(r.key, r.values) for r in resumed] == [(r.key, r.values) for r in whole]
