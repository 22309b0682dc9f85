"""Stores of several people or machines joined into one: no record is lost, none is doubled."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from karat.lab.store.rescue import rescued
from karat.lab.store.store import Store
from karat.study.record import Record


@dataclass(frozen=True, kw_only=True)
class Merged:
    """What became of the records of other stores.

    Args:
        taken: were new and are in the store now.
        known: were there already, with the same result.
        differing: have another result than the record that is there; kept in `aside`.
        damaged: could not be read.
        aside: file with the differing records, one line of JSON each; None if there are none.
    """

    taken: int
    known: int
    differing: int
    damaged: int
    aside: Path | None


def merge(target: Store, others: Iterable[str | Path]) -> Merged:
    """Take the records, sweeps and benchmarks of other stores into one; the others are only read.

    Records that could not be saved and wait beside a store (see `rescue`) count as its own.
    A finished record takes the place of a failed one. Where both have finished with different results, the
    one that is there stays, and the other goes to a file beside the store, for somebody must look at it.

    Args:
        target: takes the records in.
        others: files of the stores to be read.
    """
    taken = known = damaged = 0
    differing: list[Record] = []
    for path in others:
        with Store(path, read_only=True) as other:
            present = {record.key: record for record in target.records()}
            for record in (*other.records(), *rescued(Path(path))):
                here = present.get(record.key)
                if here is None or (record.finished and not here.finished):
                    target.put(record)
                    present[record.key] = record
                    taken += 1
                elif not record.finished or _same(record, here):
                    known += 1
                else:
                    differing.append(record)
            _take_notes(target, other)
            damaged += len(other.damaged)
    aside = _put_aside(target.path, differing) if differing else None
    return Merged(taken=taken, known=known, differing=len(differing), damaged=damaged, aside=aside)


def _same(one: Record, other: Record) -> bool:
    return (one.status, one.values) == (other.status, other.values)


def _take_notes(target: Store, other: Store) -> None:
    """Plans of sweeps and outcomes of benchmarks that the target does not have."""
    planned = {plan["name"] for plan in target.sweeps()}
    for plan in other.sweeps():
        if plan["name"] not in planned:
            target.put_sweep(plan["name"], plan["experiment"], plan)
    measured = target.benchmarks()
    for name, outcome in other.benchmarks().items():
        if name not in measured:
            target.put_benchmark(name, {key: value for key, value in outcome.items() if key != "saved_at"})


def _put_aside(path: Path, records: Iterable[Record]) -> Path:
    """Append records to a file beside the store, each once."""
    file = path.with_name(f"{path.name}.differing.jsonl")
    held = set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()
    lines = dict.fromkeys(record.to_json() for record in records)
    with file.open("a", encoding="utf-8") as stream:
        for line in lines:
            if line not in held:
                stream.write(line + "\n")
    return file
