"""The laboratory: a store of finished cells, and the engines and sweeps that fill it."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.errors import StoreError, WorkerError
    from karat.lab.adaptive import Target
    from karat.lab.cluster import Dask
    from karat.lab.engine import Engine, Inline
    from karat.lab.export import write_csv, write_jsonl, write_parquet
    from karat.lab.pool import Local
    from karat.lab.progress import Progress, RichProgress, Silent
    from karat.lab.runner import iterate, present_sources, run_cells
    from karat.lab.store.overview import Summary
    from karat.lab.store.store import Store, default_path
    from karat.lab.sweep import Outcome, Sweep, run_sweep
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Dask",
    "Engine",
    "Inline",
    "Local",
    "Outcome",
    "Progress",
    "RichProgress",
    "Silent",
    "Store",
    "StoreError",
    "Summary",
    "Sweep",
    "Target",
    "WorkerError",
    "default_path",
    "iterate",
    "present_sources",
    "run_cells",
    "run_sweep",
    "write_csv",
    "write_jsonl",
    "write_parquet",
]
