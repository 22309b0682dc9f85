"""Many records in few rows: mean and interval over seeds of every scalar value, per config."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from karat.core.statistics import Interval, clopper_pearson, t_interval
from karat.study.record import Record


@dataclass(frozen=True, kw_only=True)
class Average:
    """A scalar value over the seeds of one config; the interval is None for one seed or infinite values.

    Args:
        mean: over the seeds.
        interval: 95 % interval of the mean.
        seeds: how many.
    """

    mean: float
    interval: Interval | None
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Group:
    """The records of one config.

    Args:
        config: strict JSON of the config.
        config_hash: names the config.
        varied: its settings that differ between the groups.
        statuses: status -> number of seeds.
        averages: value name -> average over the finished seeds.
    """

    config: dict[str, Any]
    config_hash: str
    varied: dict[str, Any]
    statuses: dict[str, int]
    averages: dict[str, Average]


def average_seeds(records: Sequence[Record]) -> list[Group]:
    """Return one group per config, in the order of the records."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.config_hash, []).append(record)
    varied = _varied([group[0].config for group in groups.values()])
    return [
        Group(
            config=group[0].config,
            config_hash=key,
            varied={name: group[0].config[name] for name in varied},
            statuses=dict(Counter(record.status for record in group)),
            averages=_averages([record.values for record in group if record.status == "done"]),
        )
        for key, group in groups.items()
    ]


def _varied(configs: Sequence[dict[str, Any]]) -> list[str]:
    names = configs[0] if configs else {}
    return [name for name in names if any(config.get(name) != names[name] for config in configs)]


def _averages(values: Sequence[dict[str, Any]]) -> dict[str, Average]:
    columns: dict[str, list[float]] = {}
    flags: set[str] = set()
    for row in values:
        for name, value in row.items():
            if isinstance(value, int | float):
                columns.setdefault(name, []).append(float(value))
                flags |= {name} if isinstance(value, bool) else set()
    return {name: _average(column, name in flags) for name, column in columns.items()}


def _average(column: list[float], flag: bool) -> Average:
    interval = None
    if flag:
        interval = clopper_pearson(round(sum(column)), len(column))
    elif len(column) > 1 and all(map(math.isfinite, column)):
        interval = t_interval(column)
    return Average(mean=sum(column) / len(column), interval=interval, seeds=len(column))
