"""The laboratory: a store of finished cells, and the runner that fills it."""

from karat.lab.export import write_csv, write_jsonl
from karat.lab.pool import WorkerError
from karat.lab.progress import Progress, RichProgress, Silent
from karat.lab.runner import iterate, run_cells
from karat.lab.store import Store, StoreError, Summary, default_path

__all__ = [
    "Progress",
    "RichProgress",
    "Silent",
    "Store",
    "StoreError",
    "Summary",
    "WorkerError",
    "default_path",
    "iterate",
    "run_cells",
    "write_csv",
    "write_jsonl",
]
