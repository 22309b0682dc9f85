"""What can be said of claims and experiments before anything runs, remembered from one command to the next.

Behind checks and experiments stands torch, whose import takes seconds: their facts are read once, a paper at
a time, and kept in the user's cache folder until a source file changes.
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
SHOWN = "quick"
"""The preset at whose settings hypotheses are shown, if a check has it."""


def check_facts(claim_id: str) -> dict[str, Any] | None:
    """Return what is known of a claim's check, as strict JSON; None if the claim is only stated.

    Args:
        claim_id: of a statement.
    """
    from karat.study.registry import executable_ids, get_statement

    if claim_id not in executable_ids():
        return None
    paper = get_statement(claim_id).paper
    facts: dict[str, Any] | None = remembered(f"claims-{paper}", partial(_claims, paper)).get(claim_id)
    return facts


def experiment_facts() -> dict[str, Any]:
    """Return name -> facts of every experiment, as strict JSON."""
    return remembered("experiments", _experiments)


def remember_everything() -> None:
    """Leave the facts behind for commands that only look; for those that have loaded all papers anyway."""
    from karat.study.registry import PAPERS

    with suppress(Exception):  # of somebody else's package: whoever asks for its claims is told
        experiment_facts()
        for paper in PAPERS:
            remembered(f"claims-{paper}", partial(_claims, paper))


def remembered(name: str, collect: Callable[[], dict[str, Any]], also: str = "") -> dict[str, Any]:
    """Return facts from the cache folder, or collect them and leave them there.

    Args:
        name: of the facts.
        collect: what to do if they are not there.
        also: what they depend on beside the source code.
    """
    file = _cache_file(name, also)
    with suppress(OSError, ValueError):
        stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return stored
    facts = collect()
    from karat.study.registry import BROKEN

    if not BROKEN:  # a broken package is named by every command that looks at it
        with suppress(OSError):
            _replace(file, json.dumps(facts))
    return facts


def _experiments() -> dict[str, Any]:
    from karat.study.registry import CHECKS, EXPERIMENTS

    readers = Counter(check.name for check in CHECKS.values())
    return {
        name: {"name": name, "paper": e.paper, "title": e.title, "part": e.part, "claims": readers[name]}
        for name, e in EXPERIMENTS.items()
    }


def _claims(paper: str) -> dict[str, Any]:
    """The checks of a paper's statements."""
    from karat.study.registry import CHECKS, PAPERS, executable_ids

    own = [statement.id for statement in PAPERS[paper].statements if statement.id in executable_ids()]
    return {claim_id: _facts(CHECKS[claim_id]) for claim_id in own if claim_id in CHECKS}


def _facts(check: "Check") -> dict[str, Any]:
    from karat.study.config import encode
    from karat.study.experiment import cells
    from karat.study.hypothesis import Entry, HypothesesError, collected, conditions_at
    from karat.study.judging.kinds import rules_in
    from karat.study.run import Runs
    from karat.study.trace import margins

    scale = SHOWN if SHOWN in check.scales else check.scales[-1]
    configs = [cell.config for cell in cells(check.experiment, scale, 1)]
    ledger: tuple[Entry, ...] = ()
    unknown = ""
    try:
        ledger = collected(condition for config in configs for condition in conditions_at(check, config))
    except HypothesesError as error:
        unknown = str(error)
    trace: tuple[str, ...] = ()
    with suppress(Exception):  # examples of somebody else's package; `karat contract` says what is wrong
        trace = check.evaluate(Runs(check.satisfied)).trace
    facts: dict[str, Any] = encode(
        {
            "reported": check.reported,
            "experiment": check.name,
            "beside": [other.name for other in check.beside],
            "reading": check.reading,
            "rules": sorted(rules_in(trace)),
            "margins": margins(trace),
            "ledger_scale": scale,
            "ledger_error": unknown,
            "ledger": [vars(e.condition) | {"settings": e.settings, "unmet": e.unmet} for e in ledger],
            "controls": [vars(control) for control in check.controls],
            "scales": list(check.scales),
            "code": [_where(check.evaluate), _where(check.experiment.run)],
        }
    )
    return facts


def _where(function: Callable[..., Any]) -> str:
    """The file and line at which a function is defined."""
    while isinstance(function, partial):
        function = function.func
    code = inspect.unwrap(function).__code__
    file = Path(code.co_filename)
    path = file.relative_to(SOURCE) if file.is_relative_to(SOURCE) else file
    return f"{path}:{code.co_firstlineno}"


def _cache_file(name: str, also: str) -> Path:
    """A name that changes with every source file of karat and of the papers of other people."""
    from karat.study.registry import PAPERS

    digest = hashlib.sha256(f"{__version__} {also}".encode())
    for package in sorted({"karat", *(paper.package.partition(".")[0] for paper in PAPERS.values())}):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for file in sorted(Path(folder).rglob("*.py")):
                status = file.stat()
                digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(caches) / "karat" / f"{name}-{digest.hexdigest()[:16]}.json"


def _replace(file: Path, text: str) -> None:
    """Write the file as a whole and remove those of other source code."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
    name = file.stem.rpartition("-")[0]
    for other in file.parent.glob(f"{name}-{'?' * 16}.json"):
        if other != file:
            other.unlink(missing_ok=True)
