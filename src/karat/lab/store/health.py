"""Is a store sound?"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from karat.errors import StoreError
from karat.lab.store.store import Store

_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Health:
    """What `verify` found.

    Args:
        schema: version of the layout.
        records: how many there are.
        problems: one line each.
    """

    schema: int
    records: int
    problems: tuple[str, ...]


def verify(path: Path) -> Health:
    """Check the file, its layout and every record: that it is as it was written."""
    with Store(path, read_only=True) as store:
        version, problems = store.integrity(_SHOWN)
        problems = [f"the file: {text}" for text in problems]
        records = 0
        if not problems:
            records = sum(1 for _ in store.rows()) + len(store.damaged)
            for read in (store.sweeps, store.benchmarks):
                read()
            problems = [f"{name}: {reason}" for name, reason in store.damaged.items()]
    return Health(schema=version, records=records, problems=tuple(problems))


def is_sound(path: Path) -> bool:
    """Whether `verify` finds nothing to complain of."""
    with suppress(StoreError):
        return not verify(path).problems
    return False
