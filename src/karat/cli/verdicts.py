"""The verdicts on what a store holds, remembered until the store or the source code changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karat.cli.catalogue import remembered
from karat.cli.session import open_store


def stored_verdicts(store: Path | None) -> dict[str, Any]:
    """Return id -> judged claim as strict JSON, with what would settle it and whether it stands among all.

    Args:
        store: the store's file; the default one if None.
    """
    with open_store(store, read_only=True) as opened:
        return remembered("verdicts", lambda: _judge(opened), also=" ".join(_identity(opened.path)))


def _judge(store: Any) -> dict[str, Any]:
    from karat import study
    from karat.report.collect import collect
    from karat.study.config import encode

    content = collect(store, None, study.CHECKS, study.EXPERIMENTS, others=False)
    survivors = content.family.survivors
    facts: dict[str, Any] = encode(
        {
            item.claim.id: study.claim_json(item.claim)
            | {
                "survives_holm": item.claim.id in survivors if item.claim.p_value is not None else None,
                "settling": item.settling and vars(item.settling) | {"text": str(item.settling)},
            }
            for item in content.judged
        }
    )
    return facts


def _identity(path: Path) -> Iterator[str]:
    """What changes when a record comes in: size and time of the file and of its journal."""
    for file in (path, path.with_name(f"{path.name}-wal")):
        if file.exists():
            status = file.stat()
            yield f"{file.resolve()} {status.st_size} {status.st_mtime_ns}"
