"""A random sample of somebody's records computed again, and how many of all may be wrong."""

import math
import random
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core.statistics import Interval, clopper_pearson
from karat.lab.engine import Engine
from karat.lab.progress import Progress
from karat.lab.runner import run_cells
from karat.lab.store import Store
from karat.study.experiment import Cell
from karat.study.record import Record
from karat.study.registry import find_experiment

FLOOR = 1e-9
"""Numbers below this are compared with it: residues of rounding differ from machine to machine."""

RESIDUE = 1e-13
"""So much of the largest number of a list is rounding in any other of its numbers."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What came of computing a sample of records again.

    Args:
        records: in the store, finished ones.
        replayed: computed again.
        differing: of them, with what was seen to differ.
        unknown: sampled, but of experiments or settings that there are not here; they count as wrong.
        share: of all records that may be wrong, with 95 % confidence.
        seed: of the sample.
        largest: relative deviation that was seen and tolerated.
    """

    records: int
    replayed: int
    differing: tuple[tuple[Record, str], ...]
    unknown: int
    share: Interval | None
    largest: float
    seed: int


def replay(
    records: Sequence[Record],
    sample: int = 300,
    *,
    tolerance: float = 1e-9,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Compute a random sample of finished records again and compare.

    Reading: the sample is drawn without replacement, so that of F forged records among N a sample of n misses
    all with the hypergeometric probability C(N - F, n)/C(N, n); the interval is Clopper and Pearson's, which
    is a little wider than the hypergeometric one. Other machines round differently: the tolerance is
    relative to each number, and in a list a residue of its largest one is forgiven beside that.

    Args:
        records: of a store.
        sample: how many at most.
        tolerance: relative deviation that counts as rounding.
        seed: of the sample; by default one that nobody could know when the records were made.
        engine: what computes.
        progress: listener.
    """
    finished = list({record.key: record for record in records if record.finished}.values())
    chosen = secrets.randbits(32) if seed is None else seed
    drawn = random.Random(chosen).sample(finished, min(sample, len(finished)))
    cells = {record.key: cell for record in drawn if (cell := _cell(record)) is not None}
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "replay.sqlite") as store:
        again = {
            record.key: record
            for record in run_cells(list(cells.values()), store, engine=engine, progress=progress)
        }
    differing, largest = [], 0.0
    for record in drawn:
        if record.key in again:
            deviation, where = deviation_of(record, again[record.key])
            if deviation > tolerance:
                differing.append((record, where))
            else:
                largest = max(largest, deviation)
    replayed = len(again)
    suspicious = len(differing) + len(drawn) - replayed
    share = clopper_pearson(suspicious, len(drawn)) if drawn else None
    return Replay(
        records=len(finished),
        replayed=replayed,
        differing=tuple(differing),
        unknown=len(drawn) - replayed,
        share=share,
        largest=largest,
        seed=chosen,
    )


def deviation_of(record: Record, again: Record) -> tuple[float, str]:
    """Return the largest relative deviation between two results, infinite where they are of another kind.

    Args:
        record: as it was stored.
        again: computed now.
    """
    if record.status != again.status:
        return math.inf, f"was {record.status}, is {again.status}"
    worst, where = 0.0, ""
    for name in {**record.values, **again.values}:
        deviation = _deviation(record.values.get(name, ...), again.values.get(name, ...))
        if deviation > worst:
            worst, where = (
                deviation,
                f"`{name}` was {_text(record.values.get(name))}, is {_text(again.values.get(name))}",
            )
    return worst, where


def _deviation(one: Any, other: Any, scale: float = 0.0) -> float:
    """Relative deviation of numbers at any depth, infinite where the values are of another kind."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return max((_deviation(one[key], other[key]) for key in one), default=0.0)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        largest = max((_size(value) for value in (*one, *other)), default=0.0)
        return max((_deviation(a, b, largest) for a, b in zip(one, other, strict=True)), default=0.0)
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers and not isinstance(one, bool) and not isinstance(other, bool):
        if one == other:
            return 0.0
        try:
            distance = abs(float(one) - float(other))
        except OverflowError:
            return math.inf
        if not math.isfinite(distance):
            return 0.0 if math.isnan(one) and math.isnan(other) else math.inf
        return max(0.0, distance - RESIDUE * scale) / max(_size(one), _size(other), FLOOR)
    return 0.0 if one == other and type(one) is type(other) else math.inf


def _size(value: Any) -> float:
    """How large a number is; zero for what is none, or not finite."""
    try:
        size = abs(float(value)) if isinstance(value, int | float) else 0.0
    except OverflowError:
        return 0.0
    return size if math.isfinite(size) else 0.0


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _cell(record: Record) -> Cell | None:
    """The cell of a record, None if it cannot be run here."""
    try:
        experiment = find_experiment(record.experiment)
        cell = Cell(record.experiment, experiment.config(record.config), record.seed)
    except (ValueError, TypeError):
        return None
    return cell if cell.key == record.key else None
