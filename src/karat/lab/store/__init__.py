"""Finished cells in one SQLite file: put, found again, verified, repaired, rescued, shared by drivers."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.errors import StoreError
    from karat.lab.store.health import Health, is_sound, verify
    from karat.lab.store.joining import Merged, merge
    from karat.lab.store.locks import Reservations
    from karat.lab.store.overview import Summary
    from karat.lab.store.salvage import Salvage, repair
    from karat.lab.store.store import Sources, Store, default_path
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Health",
    "Merged",
    "Reservations",
    "Salvage",
    "Sources",
    "Store",
    "StoreError",
    "Summary",
    "default_path",
    "is_sound",
    "merge",
    "repair",
    "verify",
]
