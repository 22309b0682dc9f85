"""What can be said of claims and experiments before anything runs, remembered from one command to the next.

Behind checks and experiments stands torch, whose import takes seconds: their facts are read once and kept
in the user's cache folder until a source file changes.
"""

import hashlib
import inspect
import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.version import __version__

if TYPE_CHECKING:
    from karat.study.check import Check

SOURCE = Path(__file__).parents[2]


def catalogue() -> dict[str, Any]:
    """Return {"claims": id -> facts, "experiments": name -> facts}, as strict JSON."""
    file = _cache_file()
    with suppress(OSError, ValueError):
        stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return stored
    facts = _collect()
    from karat.study.registry import BROKEN

    if not BROKEN:  # a broken package is named by every command that looks at it
        with suppress(OSError):
            _replace(file, json.dumps(facts))
    return facts


def _collect() -> dict[str, Any]:
    """Load every check and every experiment."""
    from karat import study
    from karat.study.registry import EXPERIMENTS

    claims = {}
    for statement in study.STATEMENTS:
        check = study.CHECKS.get(statement.id)
        judged = study.claim_json(study.judge_claim(statement, check, []))
        claims[statement.id] = {"claim": judged, "check": _check_facts(check) if check else None}
    readers = Counter(check.name for check in study.CHECKS.values())
    experiments = {
        name: {"name": name, "paper": e.paper, "title": e.title, "part": e.part, "claims": readers[name]}
        for name, e in EXPERIMENTS.items()
    }
    return {"claims": claims, "experiments": experiments}


def _check_facts(check: "Check") -> dict[str, Any]:
    from karat.study.registry import find_experiment

    code = [_where(check.evaluate), _where(find_experiment(check.name).run)]
    return {"experiment": check.name, "reading": check.reading, "scales": list(check.scales), "code": code}


def _where(function: Callable[..., Any]) -> str:
    """The file and line at which a function is defined."""
    while isinstance(function, partial):
        function = function.func
    code = inspect.unwrap(function).__code__
    file = Path(code.co_filename)
    path = file.relative_to(SOURCE) if file.is_relative_to(SOURCE) else file
    return f"{path}:{code.co_firstlineno}"


def _cache_file() -> Path:
    """A name that changes with every source file of karat and of the papers of other people."""
    from karat.study.registry import PAPERS

    digest = hashlib.sha256(__version__.encode())
    for package in sorted({"karat", *(paper.package.partition(".")[0] for paper in PAPERS.values())}):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for file in sorted(Path(folder).rglob("*.py")):
                status = file.stat()
                digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(caches) / "karat" / f"catalogue-{digest.hexdigest()[:16]}.json"


def _replace(file: Path, text: str) -> None:
    """Write the file as a whole and remove those of other source code."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
    for other in file.parent.glob("catalogue-*.json"):
        if other != file:
            other.unlink(missing_ok=True)
