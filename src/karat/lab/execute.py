"""One cell computed in this process, on one thread, with its cost."""

import platform
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from karat.errors import one_line
from karat.lab.child import THREADS
from karat.study.config import decode, encode
from karat.study.experiment import Cell
from karat.study.record import Record, Status, cell_generator, environment
from karat.study.registry import find_experiment
from karat.study.result import to_values, undefined_values
from karat.study.source import require_unchanged, source_hash
from karat.version import __version__

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_TOO_LARGE = (
    "can't allocate memory",
    "Storage size calculation overflowed",
    "numel: integer multiplication overflow",
    "Overflow when unpacking long",
    "Maximum allowed dimension exceeded",
    "array is too big",
)
"""How torch and numpy call an array that no memory holds, beside MemoryError."""


def execute(cell: Cell, *, show_traceback: bool = False) -> Record:
    """Compute one cell; divergence and errors become the status of its record.

    Only a file of the experiment that was edited between its hash and its import raises, a `SourceError`:
    the record would name code that did not compute it.
    """
    # On use: core brings torch, which hosts of workers do without.
    from karat.core.divergence import Diverged, settle

    experiment = find_experiment(cell.experiment)
    source = source_hash(experiment)
    require_unchanged(experiment)
    status: Status = "done"
    values, error = {}, None
    _reset_peak()
    start = time.process_time()
    with one_thread():
        try:
            # There and back: a record fresh from the cell equals the one read from a store later.
            result = experiment.run(cell.config, cell_generator(cell.experiment, cell.seed))
            values = decode(encode(to_values(result)))
            values = settle(values, undefined_values(experiment.result_type))
        except Diverged as reason:
            status, error = "diverged", one_line(reason, "no message")
        except Exception as reason:
            message = one_line(reason, "no message")
            status, error = "failed", f"{type(reason).__name__}: {message}"
            if isinstance(reason, MemoryError) or any(words in message for words in _TOO_LARGE):
                error = "MemoryError: these settings need more memory than this machine has."
            if show_traceback:
                traceback.print_exc(file=sys.stderr)
    cost = time.process_time() - start
    require_unchanged(experiment)
    return _record(cell, status, values, error, cost, _peak_memory_mb(), source)


def load() -> None:
    """Load what every cell needs, so that it is no part of any cell's time."""
    import threadpoolctl  # noqa: F401
    import torch  # noqa: F401


def failure(cell: Cell, error: str) -> Record:
    """Return the record of a cell whose worker could not finish it."""
    return _record(cell, "failed", {}, error, 0.0, 0.0, source_hash(find_experiment(cell.experiment)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch, numba and the BLAS libraries loaded so far to one thread, then restore them."""
    import torch

    numba = sys.modules.get("numba")
    if numba and numba.config.NUMBA_NUM_THREADS <= THREADS:
        numba = None
    before = torch.get_num_threads(), numba.get_num_threads() if numba else 0
    with _thread_pools(len(sys.modules)).limit(limits=THREADS):
        torch.set_num_threads(THREADS)
        if numba:
            numba.set_num_threads(THREADS)
        try:
            yield
        finally:
            torch.set_num_threads(before[0])
            if numba:
                numba.set_num_threads(before[1])


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> "ThreadpoolController":
    """The thread pools of the libraries loaded by now; a new library comes with a new module."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _record(
    cell: Cell,
    status: Status,
    values: dict[str, object],
    error: str | None,
    seconds: float,
    memory: float,
    source: str,
) -> Record:
    return Record(
        experiment=cell.experiment,
        config=cell.config_json,
        seed=cell.seed,
        status=status,
        values=values,
        error=error,
        cpu_seconds=seconds,
        peak_memory_mb=memory,
        version=__version__,
        source=source,
        environment=environment(THREADS),
    )


def _reset_peak() -> None:
    """Forget the peak of earlier cells of this process (Linux); elsewhere the peak is one since its start."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_memory_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
        # Not ru_maxrss: on Linux a new process inherits in it the peak of the one that started it.
        return float(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # Windows has no such count
        return 0.0
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak / 2**20 if platform.system() == "Darwin" else peak / 1024
