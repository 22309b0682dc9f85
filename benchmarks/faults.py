"""Faults in the middle of sweeps: kills, a full disk, a replaced store, workers with other source code.

    python benchmarks/faults.py [--quick] [--json] [--repeats N]

Every fault hits a sweep of 32 short cells, which the same command then completes. Counted are records that a
driver had saved and that are gone (lost), stored numbers that differ from those of an undisturbed run or
carry the hash of other code (wrong), cells begun again although their record was saved (duplicates), and
processes that do nothing for two minutes or outlive their driver (hangs). Expected: none of them; the exit
code says so.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fault_trial import PATIENCE, Driver, Trial, total

from karat.lab import Store

COUNTS = ("lost", "wrong", "duplicates", "hangs")
Fault = Callable[[random.Random], Counter[str]]


def somewhere(trial: Trial, driver: Driver, chance: random.Random) -> None:
    """Wait for a moment in the middle of the sweep: some records saved, then part of a cell."""
    count = len(driver.saved) + chance.randint(2, 8)
    trial.until(lambda: len(driver.saved) >= count, driver)
    time.sleep(chance.uniform(0, 0.1))


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def driver_killed(chance: random.Random) -> Counter[str]:
    trial = Trial()
    driver = trial.start()
    somewhere(trial, driver, chance)
    driver.kill()
    trial.end(driver)
    return trial.finish()


def driver_killed_while_starting(chance: random.Random) -> Counter[str]:
    trial = Trial()
    driver = trial.start()
    time.sleep(chance.uniform(0, 4))
    driver.kill()
    trial.end(driver)
    return trial.finish()


def worker_killed(chance: random.Random) -> Counter[str]:
    trial = Trial()
    driver = trial.start()
    somewhere(trial, driver, chance)
    kill(trial.workers()[-1])
    trial.count["hangs"] += trial.end(driver) != [""]
    return trial.finish()


def both_killed(chance: random.Random) -> Counter[str]:
    trial = Trial()
    driver = trial.start()
    somewhere(trial, driver, chance)
    for process in (*set(trial.workers()), driver.process.pid):
        kill(process)
    trial.end(driver)
    return trial.finish()


def one_of_two_drivers_killed(chance: random.Random) -> Counter[str]:
    trial = Trial()
    drivers = [trial.start() for _ in range(2)]
    somewhere(trial, drivers[0], chance)
    drivers[0].kill()
    trial.end(*drivers)
    return trial.finish()


def disk_full(chance: random.Random) -> Counter[str]:
    """A limit on the size of files stands for the full disk: the store can grow no more."""
    trial = Trial()
    driver = trial.start()
    somewhere(trial, driver, chance)
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (16384, 16384))
    (said,) = trial.end(driver)
    trial.count["hangs"] += said.count("\n")  # one line, no traceback
    return trial.finish()


def store_replaced(chance: random.Random) -> Counter[str]:
    """What was saved before went away with the old file, on purpose; what is saved after must be there."""
    trial = Trial()
    driver = trial.start()
    somewhere(trial, driver, chance)
    for file in trial.folder.glob("store.sqlite*"):
        file.rename(trial.folder / f"old-{file.name}")
    if chance.random() < 0.5:
        Store(trial.store).close()
    since = time.time() + 0.2  # a record just saved, and told to us a moment later
    trial.end(driver)
    return trial.finish(since=since)


def edited_then_worker_killed(chance: random.Random) -> Counter[str]:
    trial = Trial()
    driver = trial.start()
    somewhere(trial, driver, chance)
    trial.edit()
    kill(trial.workers()[-1])
    trial.end(driver)
    return trial.finish()


def edited_during_the_first_cells(chance: random.Random) -> Counter[str]:
    trial = Trial()
    driver = trial.start()
    trial.until(trial.begun, driver)
    trial.edit()
    trial.end(driver)
    return trial.finish()


@contextmanager
def cluster(trial: Trial, folder: Path) -> Iterator[str]:
    """A scheduler and one worker that finds its modules in a folder first."""
    file = trial.folder / "scheduler.json"
    environment = trial.environment()
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), environment["PYTHONPATH"]])
    dask = [sys.executable, "-m", "dask"]
    options = {"env": environment, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    local = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    scheduler = subprocess.Popen([*dask, "scheduler", *local, "--scheduler-file", str(file)], **options)
    worker = subprocess.Popen(
        [*dask, "worker", "--scheduler-file", str(file), "--nthreads", "2", "--no-nanny", "--no-dashboard"],
        **options,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text().rstrip().endswith("}")):
            if time.monotonic() > deadline:
                raise RuntimeError("the Dask scheduler does not start.")
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def dask_worker_of_other_source(chance: random.Random) -> Counter[str]:
    trial = Trial()
    with tempfile.TemporaryDirectory() as other:
        Path(other, trial.code.name).write_text(
            trial.code.read_text().replace("SHIFT = 0.0", "SHIFT = 1000.0")
        )
        with cluster(trial, Path(other)) as address:
            driver = trial.start(address)
            (said,) = trial.end(driver)
            trial.count["wrong"] += "a worker reads source" not in said
    return trial.finish()


def dask_driver_killed(chance: random.Random) -> Counter[str]:
    trial = Trial()
    with cluster(trial, trial.folder) as address:
        driver = trial.start(address)
        somewhere(trial, driver, chance)
        driver.kill()
        trial.end(driver)
        return trial.finish(address)


FAULTS: dict[str, Fault] = {
    "driver killed": driver_killed,
    "driver killed while its workers start": driver_killed_while_starting,
    "worker killed": worker_killed,
    "driver and workers killed": both_killed,
    "one of two drivers killed": one_of_two_drivers_killed,
    "disk full": disk_full,
    "store moved away or replaced": store_replaced,
    "code edited during the first cells": edited_during_the_first_cells,
    "code edited, then a worker killed": edited_then_worker_killed,
    "Dask worker with other source": dask_worker_of_other_source,
    "Dask driver killed": dask_driver_killed,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every fault once")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--repeats", type=int, default=10, help="times every fault")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    options = parser.parse_args()
    tried, rows = 1 if options.quick else options.repeats, []
    for name, fault in FAULTS.items():
        if options.only not in name:
            continue
        start = time.process_time()
        count = total(fault(random.Random(f"{name} {trial}")) for trial in range(tried))
        spent = time.process_time() - start
        note = ", ".join(f"{count[what]} {what}" for what in COUNTS)
        print(f"{name}: {tried} tried, {note}", file=sys.stderr)
        row = {"bench": "faults", "size": name, "implementation": f"{tried} tried", "cpu_seconds": spent}
        rows.append(row | {"ratio": None, "note": note} | {what: count[what] for what in COUNTS})
    bad = [row["size"] for row in rows if any(row[what] for what in COUNTS)]
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"| {'what':38s} | tried | lost | wrong | duplicates | hangs |\n|---|---|---|---|---|---|")
        for row in rows:
            print(f"| {row['size']:38s} | {tried} | " + " | ".join(str(row[what]) for what in COUNTS) + " |")
    if bad:
        print(f"not survived: {', '.join(bad)}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
