"""What a store holds, in one row per experiment."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from karat.lab.store.row import Row


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a store holds of one experiment.

    Args:
        experiment: its name.
        done: cells with a result.
        diverged: cells that diverged, which is a result, too.
        failed: cells without a result.
        cpu_seconds: what all of them cost.
        last_saved: time of the latest record.
    """

    experiment: str
    done: int
    diverged: int
    failed: int
    cpu_seconds: float
    last_saved: str


def overview(rows: Iterable[Row]) -> list[Summary]:
    """Return one summary per experiment, in alphabetical order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.experiment, []).append(row._replace(record=""))  # all texts fill the memory
    return [_summary(name, groups[name]) for name in sorted(groups)]


def _summary(experiment: str, rows: list[Row]) -> Summary:
    counts = Counter(row.status for row in rows)
    return Summary(
        experiment=experiment,
        done=counts["done"],
        diverged=counts["diverged"],
        failed=counts["failed"],
        cpu_seconds=math.fsum(row.cpu_seconds for row in rows),
        last_saved=max(row.saved_at for row in rows),
    )
