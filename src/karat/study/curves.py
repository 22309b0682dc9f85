"""Records as curves over one setting, a row per seed, and verdicts made of several findings."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from karat.core.statistics import Interval, crossing_point
from karat.study.claim import Finding, Outcome
from karat.study.evaluate import Side, rate_finding, worst_finding


class HasSeed(Protocol):
    """A record or a run."""

    @property
    def seed(self) -> int:
        """Of its cell."""
        ...


T = TypeVar("T", bound=HasSeed)


def curves(
    records: Sequence[T], axis: Callable[[T], float], value: Callable[[T], float]
) -> tuple[list[float], list[list[float]]]:
    """Sorted values of the axis and one curve per seed; seeds that miss a point are left out."""
    table: dict[int, dict[float, float]] = {}
    for record in records:
        table.setdefault(record.seed, {})[axis(record)] = value(record)
    x = sorted({point for row in table.values() for point in row})
    return x, [[row[point] for point in x] for row in table.values() if set(row) == set(x)]


def crossings(
    records: Sequence[T],
    row: Callable[[T], float],
    column: Callable[[T], float],
    value: Callable[[T], float],
    level: float,
) -> tuple[list[float], list[list[float]]]:
    """Where `value` crosses a level along `column`, for every `row`, one curve of crossings per seed.

    A row in which some seed never crosses is left out: its crossing is not on the grid.
    """
    rows, found = sorted({row(record) for record in records}), {}
    for at in rows:
        x, table = curves([record for record in records if row(record) == at], column, value)
        try:
            found[at] = [crossing_point(np.log(x), curve, level).value for curve in map(np.array, table)]
        except ValueError:
            continue
    if not found:
        raise ValueError(f"no row of the grid crosses {level:g}.")
    per_seed = zip(*found.values(), strict=True)
    return list(found), [[math.exp(value) for value in seed] for seed in per_seed]


def power(
    x: Sequence[float],
    table: Sequence[Sequence[float]],
    predicted: float,
    *,
    above: float = 0.0,
    side: Side = "equal",
    resolution: float | None = None,
) -> Finding:
    """The exponent over the part of the axis from `above` on."""
    kept = [i for i, value in enumerate(x) if value >= above]
    return rate_finding(
        [x[i] for i in kept],
        [[row[i] for i in kept] for row in table],
        predicted,
        side=side,
        resolution=resolution,
    )


def say(finding: Finding, digits: int = 3) -> str:
    """The measured number with its interval.

    >>> say(Finding(measured=-0.4, interval=Interval(-0.5, -0.3), predicted=0.0, verdict="fails"))
    '-0.4 [-0.5, -0.3]'
    """
    if finding.measured is None:
        return "unknown"
    text = f"{finding.measured:.{digits}g}"
    if finding.interval is None or not math.isfinite(finding.interval.high):
        return text
    return f"{text} [{finding.interval.low:.{digits}g}, {finding.interval.high:.{digits}g}]"


def combine(findings: Sequence[Finding], caveat: str = "") -> Finding:
    """The first of the worst findings, with a caveat: a statement of several parts fails with any of them."""
    return with_caveat(worst_finding(findings), caveat)


def with_caveat(finding: Finding, *notes: str, verdict: Outcome | None = None) -> Finding:
    """The finding with more said about it, and perhaps another verdict."""
    text = " ".join(filter(None, [finding.caveat, *notes]))
    return replace(finding, caveat=text, verdict=verdict or finding.verdict)


def vacuous(measured: float, predicted: float, note: str) -> Finding:
    """A bound too weak to say anything at this size."""
    return Finding(
        measured=measured,
        interval=None,
        predicted=predicted,
        verdict="inconclusive",
        caveat=f"Vacuous at this size: {note}",
    )


__all__ = [
    "Interval",
    "combine",
    "crossings",
    "curves",
    "power",
    "say",
    "vacuous",
    "with_caveat",
]
