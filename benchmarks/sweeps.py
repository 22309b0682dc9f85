"""What a sweep costs beside its cells: throughput of two workers, overhead per cell, store queries, planning.

    python benchmarks/sweeps.py [--quick] [--json] [--repeats N]

Rows named "wall" hold wall-clock seconds per cell, for two workers can only be compared by the clock; the
waiting cells show the engine alone, the computing ones need two idle cores. All other rows hold CPU seconds.
Ratios are those of one worker over two; rows without a peer have none.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from sweep_cells import CELLS  # noqa: E402
from timing import YARDSTICK, cpu_seconds, main, product, row  # noqa: E402

from karat.lab import Dask, Engine, Local, Store, run_cells  # noqa: E402
from karat.study.experiment import Cell, cells  # noqa: E402
from karat.study.record import Record  # noqa: E402
from karat.study.source import source_hash  # noqa: E402
from karat.version import __version__  # noqa: E402

BENCH = "sweeps"
WARM = 4
"""Records after which every worker is up and the clock starts."""


class Clock:
    """A listener that notes wall and CPU time of the driver at every record."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []

    def start(self, total: int, done: int) -> None: ...

    def advance(self, record: Record) -> None:
        self.times.append((time.perf_counter(), time.process_time()))

    def stop(self) -> None: ...

    def per_cell(self) -> tuple[float, float]:
        """Wall and CPU seconds per cell after the warm-up."""
        (wall, cpu), (last_wall, last_cpu) = self.times[WARM - 1], self.times[-1]
        count = len(self.times) - WARM
        return (last_wall - wall) / count, (last_cpu - cpu) / count


def sweep(engine: Engine, kind: str, seconds: float, count: int) -> tuple[float, float]:
    """Run so many cells into a new store and return wall and CPU seconds of the driver per cell."""
    wanted = cells(CELLS, "tiny", count, {"kind": kind, "seconds": seconds})
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store.sqlite") as store:
        run_cells(wanted, store, engine=engine, progress=clock)
    return clock.per_cell()


def throughput(count: int, seconds: float) -> list[dict[str, object]]:
    rows = []
    for kind, name in (("wait", "waiting"), ("compute", "computing")):
        size = f"{count} {name} cells of {seconds:g} s"
        walls = {workers: sweep(Local(workers), kind, seconds, count)[0] for workers in (1, 2)}
        for workers, wall in walls.items():
            label = f"local, {workers} worker{'s' if workers > 1 else ''}, wall"
            rows.append(row(BENCH, size, label, wall, walls[1] / wall))
    return rows


def overhead(count: int) -> list[dict[str, object]]:
    engines: dict[str, Engine] = {"local": Local(1)}
    try:
        import distributed  # noqa: F401

        engines["dask"] = Dask(workers=1)
    except ImportError:
        pass
    rows = []
    for name, engine in engines.items():
        wall, cpu = sweep(engine, "nothing", 0.0, count)
        size = f"{count} empty cells"
        rows += [
            row(BENCH, size, f"{name}, wall", wall, None),
            row(BENCH, size, f"{name}, driver", cpu, None),
        ]
    return rows


def filled(store: Store, wanted: Sequence[Cell]) -> None:
    """Put a record for every cell, in one transaction."""
    source = source_hash(CELLS)
    store._connection.execute("BEGIN")
    for cell in wanted:
        store._insert(
            Record(
                experiment=cell.experiment,
                config=cell.config_json,
                seed=cell.seed,
                status="done",
                values={"value": 0.5, "curve": [0.5] * 50},
                error=None,
                cpu_seconds=1.0,
                version=__version__,
                source=source,
                environment={},
            )
        )
    store._connection.execute("COMMIT")


def queries(count: int) -> list[dict[str, object]]:
    wanted = cells(CELLS, "tiny", count // 100, grid={"x": range(10), "y": range(10)})
    sources = {CELLS.name: source_hash(CELLS)}
    one = {wanted[0].config_hash}
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store.sqlite") as store:
        filled(store, wanted)
        steps = {
            "missing cells of the whole sweep": lambda: store.missing(wanted),
            "records of other source code": lambda: store.stale(wanted, sources),
            "summary": store.summary,
            "statuses of all configs": lambda: store.statuses(CELLS.name, {c.config_hash for c in wanted}),
            "records of one config": lambda: store.records(CELLS.name, one),
        }
        return [
            row(BENCH, f"{len(wanted)} rows", name, cpu_seconds(step), None) for name, step in steps.items()
        ]


PLAN = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from sweep_cells import CELLS
from karat.study.experiment import cells
from karat.lab import Store
from karat.lab.sweep import Sweep
start = time.process_time()
wanted = cells(CELLS, "tiny", int(sys.argv[3]), grid={"x": range(100), "y": range(100)})
with Store(sys.argv[2]) as store:
    todo = sorted(store.missing(wanted), key=lambda cell: cell.seed)
    plan = Sweep(experiment=CELLS.name, scale="tiny", cells=wanted).plan()
    store.put_sweep(plan["name"], CELLS.name, plan)
print(json.dumps([len(todo), time.process_time() - start,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def planning(seeds: int) -> list[dict[str, object]]:
    """A sweep of 10,000 configs is planned in a process of its own; its memory goes into the row's name."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", PLAN, str(HERE), str(Path(folder) / "store.sqlite"), str(seeds)]
        count, seconds, memory = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return [row(BENCH, f"{count} cells", f"plan, peak memory {memory:.0f} MB", seconds, None)]


def measure(*, repeats: int = 5, quick: bool = False) -> list[dict[str, object]]:
    """All rows; each is measured once, over many cells, whatever the repeats."""
    short = quick or repeats < 3
    rows = throughput(8 if quick else 24, 0.05 if quick else 0.3)
    rows += overhead(40 if quick else 100 if short else 300)
    rows += queries(1000 if quick else 100_000)
    rows += planning(1 if quick else 100)
    return [*rows, row(BENCH, "", YARDSTICK, min(cpu_seconds(product()) for _ in range(3)), None)]


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], measure, None))
