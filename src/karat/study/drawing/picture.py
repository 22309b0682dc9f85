"""A figure with what a reader needs to understand it, and how records are grouped for one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from karat.study.record import Record


class Picture(NamedTuple):
    """A figure, its title and its caption."""

    title: str
    caption: str
    figure: Figure


Draw = Callable[[Sequence[Record]], list[Picture]]


def by_config(records: Sequence[Record]) -> list[list[Record]]:
    """Group records of equal settings, in the order of their first appearance."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.config_hash, []).append(record)
    return list(groups.values())


def varying(records: Sequence[Record]) -> list[str]:
    """Names of the settings that differ between the records."""
    names = dict.fromkeys(name for record in records for name in record.config)
    return [name for name in names if len({repr(record.config.get(name)) for record in records}) > 1]


def describe(config: dict[str, Any], names: Sequence[str]) -> str:
    """Settings as "d = 1000, mu = 5".

    >>> describe({"d": 1000, "mu": 5.0}, ["d", "mu"])
    'd = 1000, mu = 5'
    """
    return ", ".join(f"{name} = {number(config.get(name))}" for name in names)


def number(value: Any) -> str:
    """A number with at most four significant digits, anything else as it is.

    >>> number(0.123456), number(12345), number(None)
    ('0.1235', '12345', 'None')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)
