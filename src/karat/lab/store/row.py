"""A record as a row of a store, with a digest that shows whether any of it has changed since."""

import hashlib
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from karat.study.record import Record


class Row(NamedTuple):
    """A record between the columns it is found by; the digest is that of all other columns.

    Args:
        experiment: name.
        config_hash: names the config.
        seed: of the cell.
        status: how the cell ended.
        version: of karat.
        source: hash of the source code that computed it.
        cpu_seconds: what the cell cost.
        saved_at: time in UTC.
        record: everything, as one line of JSON.
        digest: SHA-256 of all other columns.
    """

    experiment: str
    config_hash: str
    seed: int
    status: str
    version: str
    source: str
    cpu_seconds: float
    saved_at: str
    record: str
    digest: str

    @classmethod
    def of(cls, record: Record) -> "Row":
        """Return the row of a record that is saved now."""
        columns = (record.status, record.version, record.source, float(record.cpu_seconds))
        return cls(*sealed((*record.key, *columns, now(), record.to_json())))

    @property
    def key(self) -> tuple[str, str, int]:
        """What names the cell."""
        return self.experiment, self.config_hash, self.seed

    @property
    def name(self) -> str:
        """What names the cell, for people."""
        return f"{self.experiment}, config {self.config_hash}, seed {self.seed}"

    def fault(self) -> str | None:
        """Return what has changed since the row was written, or None; cheaper than `to_record`."""
        try:
            unsealed(self)
        except ValueError as error:
            return str(error)
        return None

    def to_record(self) -> Record:
        """Rebuild the record, or raise a ValueError that says what is wrong with the row."""
        unsealed(self)
        record = parse(self.record)
        if (record.key, record.status) != (self.key, self.status):
            raise ValueError("its columns name another cell than its record.")
        return record


_NO_RECORD = "the text is not a record of karat."
_TYPES: dict[str, Any] = {
    "experiment": str,
    "config": dict,
    "seed": int,
    "values": dict,
    "error": str | None,
    "cpu_seconds": int | float,
    "peak_memory_mb": int | float,
    "version": str,
    "source": str,
    "environment": dict,
}

COLUMNS = ", ".join(Row._fields)


def digest(values: Sequence[Any]) -> str:
    """Return the SHA-256 of some columns, types included.

    >>> digest(["toy", 1]) == digest(["toy", 1.0])
    False
    """
    # With types and lengths: damage may turn a text into bytes, or move letters to the next column.
    parts = (f"{type(value).__name__} {len(str(value))} {value}" for value in values)
    return hashlib.sha256("\n".join(parts).encode(errors="surrogatepass")).hexdigest()


def sealed(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return columns with their digest as a last one."""
    return *values, digest(values)


def unsealed(columns: Sequence[Any]) -> Sequence[Any]:
    """Return the columns without their digest, or raise a ValueError if they have changed."""
    *values, mark = columns
    if mark != digest(values):
        raise ValueError("it does not match its digest.")
    return values


def parse(text: str) -> Record:
    """Rebuild a record from its text; a ValueError for every other text, however odd."""
    try:
        record = Record.from_json(text)
        fits = isinstance(text, str) and all(
            isinstance(getattr(record, name), kind) for name, kind in _TYPES.items()
        )
        named = f"{record.key}{record.version}{record.source}".encode()  # what has no bytes names no cell
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(_NO_RECORD) from error
    if not (fits and named and abs(record.seed) < 2**63 and math.isfinite(record.cpu_seconds)):
        raise ValueError(_NO_RECORD)
    return record


def now() -> str:
    """Return the time as it stands in a store."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
