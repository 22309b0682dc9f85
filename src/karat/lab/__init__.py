"""The laboratory: a store of finished cells, and the engines and sweeps that fill it.

Sweeps are loaded when first used: they bring torch, which the hosts of a cluster do without.
"""

import importlib
from typing import TYPE_CHECKING, Any

from karat.lab.cluster import Dask
from karat.lab.connection import StoreError
from karat.lab.engine import Engine, Inline
from karat.lab.export import write_csv, write_jsonl, write_parquet
from karat.lab.overview import Summary
from karat.lab.pool import Local
from karat.lab.progress import Progress, RichProgress, Silent
from karat.lab.protocol import WorkerError
from karat.lab.runner import iterate, present_sources, run_cells
from karat.lab.store import Store, default_path

if TYPE_CHECKING:
    from karat.lab.adaptive import Target
    from karat.lab.sweep import Outcome, Sweep, run_sweep

_HOME = {"Outcome": "sweep", "Sweep": "sweep", "Target": "adaptive", "run_sweep": "sweep"}

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


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"karat.lab.{_HOME[name]}"), name)
    raise AttributeError(f"module 'karat.lab' has no attribute {name!r}")
