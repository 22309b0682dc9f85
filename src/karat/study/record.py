"""A record is everything that is kept of one finished cell."""

import hashlib
import json
import math
import platform
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from karat.study.config import decode, encode

if TYPE_CHECKING:
    import torch

Status = Literal["done", "diverged", "failed"]
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, kw_only=True)
class Record:
    """The result of one cell, small and plain, with what is needed to compute it again.

    Args:
        experiment: name.
        config: strict JSON of the config.
        seed: of the cell; with the experiment's name it gives the generator.
        status: `done`, `diverged` (also a result) or `failed` (computed again by the next run).
        values: what was measured, None where the experiment declares that there may be no number.
        error: one line when not done.
        cpu_seconds: processor time of the cell.
        peak_memory_mb: largest memory of its process, 0 if unknown.
        version: of karat.
        source: hash of the source code that computed it, empty if unknown.
        environment: versions, threads, architecture.
    """

    experiment: str
    config: dict[str, Any]
    seed: int
    status: Status
    values: dict[str, Any]
    error: str | None
    cpu_seconds: float
    peak_memory_mb: float = 0.0
    version: str
    source: str = ""
    environment: dict[str, Any]

    @cached_property
    def config_hash(self) -> str:
        """Sixteen hex digits that name experiment and config in every process."""
        return config_hash(self.experiment, self.config)

    @property
    def key(self) -> tuple[str, str, int]:
        """What names the record's cell in a store."""
        return self.experiment, self.config_hash, self.seed

    @property
    def finished(self) -> bool:
        """Whether the cell has its result; a failed one is computed again by the next run."""
        return self.status != "failed"

    def to_dict(self) -> dict[str, Any]:
        """Return the record as strict JSON values, the words "inf" and "nan" standing for the numbers."""
        plain = encode({field.name: getattr(self, field.name) for field in fields(self)})
        return cast(dict[str, Any], plain)

    def to_json(self) -> str:
        """Return the record as one line of strict JSON; values and settings keep their order."""
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Rebuild the record; the words "inf", "-inf" and "nan" among its values become numbers again."""
        raw = json.loads(text)
        names = {field.name for field in fields(cls)}
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        if not isinstance(raw, dict) or not needed <= set(raw) <= names or raw["status"] not in STATUSES:
            raise ValueError("the text is not a record of karat.")
        return cls(**raw | {"values": decode(raw["values"])})


def number(value: Any) -> float:
    """Return a measured value as a float for arithmetic; NaN stands for the missing one.

    >>> number(2), number(None)
    (2.0, nan)
    """
    return math.nan if value is None else float(value)


def canonical(value: Any) -> str:
    """Return strict JSON on one line with sorted keys: equal values give equal texts.

    >>> canonical({"tau": 0.1, "d": 3})
    '{"d":3,"tau":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def config_hash(experiment: str, config: Mapping[str, Any]) -> str:
    """Return sixteen hex digits of the SHA-256 of experiment and config, whatever the order of the settings.

    >>> config_hash("toy", {"d": 3, "tau": 0.1}) == config_hash("toy", {"tau": 0.1, "d": 3})
    True
    """
    text = canonical({"experiment": experiment, "config": dict(config)})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cell_generator(experiment: str, seed: int) -> "torch.Generator":
    """Return the generator of a cell: it depends on the experiment's name and the seed alone.

    Reading: equal seeds share their randomness across the configs of an experiment on purpose, so that curves
    over a setting are compared on the same draws. Experiments draw apart, so that one unlucky seed does not
    turn the claims of several at once.

    Args:
        experiment: its name.
        seed: of the cell.
    """
    import torch  # on use, so that listing records needs no torch

    digest = hashlib.sha256(f"{experiment} {seed}".encode()).digest()
    # torch's generator on the processor is seeded by 32 bits and silently drops all others.
    return torch.Generator().manual_seed(int.from_bytes(digest[:4]))


def environment(threads: int) -> dict[str, Any]:
    """Return what can change the last digits of a result: versions, threads, processor, linear algebra."""
    return {
        "python": platform.python_version(),
        **dict(_versions()),
        "threads": threads,
        "machine": platform.machine(),
        **dict(_arithmetic("torch" in sys.modules)),
    }


@cache  # reading them from disk takes longer than a small cell
def _versions() -> tuple[tuple[str, str], ...]:
    return tuple((name, version(name)) for name in ("torch", "numpy", "scipy", "numba", "clarabel"))


@cache
def _arithmetic(loaded: bool) -> tuple[tuple[str, str], ...]:
    """The vector extension that torch uses, and the BLAS libraries; nothing in a process without torch."""
    if not loaded:
        return ()
    import torch
    from threadpoolctl import threadpool_info

    libraries = {
        (each["internal_api"], str(each["version"]))
        for each in threadpool_info()
        if each["user_api"] == "blas"
    }
    blas = ", ".join(f"{name} {number}" for name, number in sorted(libraries))
    return ("vector", torch.backends.cpu.get_cpu_capability()), ("blas", blas or "none")
