"""A claim is a statement with what the paper reports, what its formula predicts and what we measured."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, TypeVar

from karat.core.bands import Band
from karat.core.statistics import Interval
from karat.errors import one_line
from karat.study.experiment import SCALES as SCALES
from karat.study.experiment import Experiment
from karat.study.record import Record
from karat.study.run import Run, Runs, read_runs
from karat.study.statement import Kind, Statement

C = TypeVar("C")
R = TypeVar("R")

Outcome = Literal["holds", "fails", "inconclusive"]
Verdict = Literal["holds", "fails", "inconclusive", "out of regime"]
ClaimStatus = Literal["stated", "executable"]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A prediction that is a curve, beside the measured one.

    Args:
        x: (g,) increasing.
        predicted: (g,) what the formula says at every x.
        band: what was measured, with ends that hold for all x at once.
    """

    x: tuple[float, ...]
    predicted: tuple[float, ...]
    band: Band


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the records of an experiment say about a statement, before its hypotheses are looked at.

    Args:
        measured: the number that is compared; of a curve the point that decided.
        interval: of the measured number, over seeds.
        predicted: what the formula says.
        verdict: how the comparison ended.
        caveat: what a reader must know beside the numbers.
        curve: all of the curve, where the prediction is one.
    """

    measured: float | None
    interval: Interval | None
    predicted: float | None
    verdict: Outcome
    caveat: str = ""
    curve: Curve | None = None


def no_hypotheses(run: Run) -> list[str]:
    """A statement that holds wherever it can be run."""
    return []


@dataclass(frozen=True, kw_only=True)
class Check(Generic[C, R]):
    """How a statement is tested: which experiments to run and how their results are judged.

    Args:
        claim_id: id of the statement.
        experiment: whose runs are judged.
        evaluate: its finished runs -> finding.
        beside: further experiments that the evaluation looks at, with `runs.of(OTHER)`.
        satisfied: runs, as `examples` makes them, on which the check must say `holds`.
        violated: runs on which it must say `fails`.
        hypotheses: a run -> the hypotheses of the statement that its settings or its result violate.
        reported: the paper's own number.
        reading: how hidden constants and slips of the text were read.
        scales: presets on which the check makes sense.
        headline: whether a summary should name it first.
    """

    claim_id: str
    experiment: Experiment[C, R]
    evaluate: Callable[[Runs[C, R]], Finding]
    beside: tuple[Experiment, ...] = ()
    satisfied: Sequence[Run[C, R]] = ()
    violated: Sequence[Run[C, R]] = ()
    hypotheses: Callable[[Run[C, R]], list[str]] = no_hypotheses
    reported: float | str | None = None
    reading: str = ""
    scales: tuple[str, ...] = SCALES
    headline: bool = False

    @property
    def name(self) -> str:
        """Of the experiment."""
        return self.experiment.name

    @property
    def names(self) -> tuple[str, ...]:
        """Of all experiments that must have run."""
        return self.name, *(other.name for other in self.beside)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement judged on the records at hand; `verdict` is None until something was measured."""

    id: str
    paper: str
    title: str
    kind: Kind
    status: ClaimStatus
    verdict: Verdict | None
    reported: float | str | None
    predicted: float | None
    measured: float | None
    interval: Interval | None
    scale: str | None
    seeds: int
    hypotheses_unmet: tuple[str, ...]
    caveat: str
    curve: Curve | None = None


def judge_claim(
    statement: Statement, check: Check | None, records: Sequence[Record], scale: str | None = None
) -> Claim:
    """Judge a statement on the records of its experiment.

    Reading: diverged and failed cells are left out of the numbers and named in the caveat; if nothing but
    diverged cells is left the claim is `inconclusive`, if all failed it stays unjudged. A ValueError of the
    evaluation (no crossing on the grid, say) makes it `inconclusive` and becomes the caveat; so does a lack
    of records, while a sweep still runs. Any other error is a bug of the check: no verdict, and the caveat
    names it. A hypothesis that any config violates puts the claim
    `out of regime`; its numbers are kept.

    Args:
        statement: what the paper says.
        check: how it is tested, None if it cannot be yet.
        records: cells of the check's experiment (others are ignored).
        scale: the preset they belong to.
    """
    if check is None:
        return _claim(statement, None, scale)
    if check.claim_id != statement.id:
        raise ValueError(f"the check of {check.claim_id!r} cannot judge the claim {statement.id!r}.")
    try:
        return _judged(statement, check, records, scale)
    except Exception as error:
        # One check, perhaps of somebody else's package, must not keep the others from their verdicts.
        bug = f"No verdict: the check itself failed ({type(error).__name__}: {_sentence(error)[:-1]})."
        return _claim(statement, check, scale, caveats=[bug])


def _judged(statement: Statement, check: Check, records: Sequence[Record], scale: str | None) -> Claim:
    own = [record for record in records if record.experiment in check.names]
    lost = _lost_cells(own)
    if not any(record.status == "done" and record.experiment == check.name for record in own):
        verdict: Verdict | None = "inconclusive" if any(r.status == "diverged" for r in own) else None
        return _claim(statement, check, scale, records=own, verdict=verdict, caveats=[lost])
    unmet: tuple[str, ...] = ()
    try:
        runs = read_runs(check.experiment, own, check.beside)
        unmet = tuple(dict.fromkeys(name for run in runs for name in _unmet(check, run)))
        finding = check.evaluate(runs)
    except KeyError as error:
        missing = f"The records hold no value {error}: they are older than this check, run it again."
        return _claim(statement, check, scale, records=own, unmet=unmet, caveats=[missing, lost])
    except ValueError as error:
        finding = Finding(
            measured=None, interval=None, predicted=None, verdict="inconclusive", caveat=_sentence(error)
        )
    except (IndexError, ArithmeticError):
        few = "The records found so far are too few to judge it."
        finding = Finding(measured=None, interval=None, predicted=None, verdict="inconclusive", caveat=few)
    return _claim(
        statement,
        check,
        scale,
        records=own,
        verdict="out of regime" if unmet else finding.verdict,
        finding=finding,
        unmet=unmet,
        caveats=[finding.caveat, lost],
    )


def claim_json(claim: Claim) -> dict[str, Any]:
    """Return the claim as strict JSON: the interval as [low, high], numbers that are not finite as null."""
    interval = claim.interval
    ends = None if interval is None else [_finite(interval.low), _finite(interval.high)]
    plain = vars(claim) | {
        "reported": claim.reported if isinstance(claim.reported, str) else _finite(claim.reported),
        "predicted": _finite(claim.predicted),
        "measured": _finite(claim.measured),
        "interval": None if ends is None or None in ends else ends,
        "hypotheses_unmet": list(claim.hypotheses_unmet),
        "curve": None if claim.curve is None else _lists(asdict(claim.curve)),
    }
    return plain


def _claim(
    statement: Statement,
    check: Check | None,
    scale: str | None,
    *,
    records: Sequence[Record] = (),
    verdict: Verdict | None = None,
    finding: Finding | None = None,
    unmet: tuple[str, ...] = (),
    caveats: Sequence[str] = (),
) -> Claim:
    return Claim(
        id=statement.id,
        paper=statement.paper,
        title=statement.title,
        kind=statement.kind,
        status="stated" if check is None else "executable",
        verdict=verdict,
        reported=None if check is None else check.reported,
        predicted=finding.predicted if finding else None,
        measured=finding.measured if finding else None,
        interval=finding.interval if finding else None,
        scale=scale,
        seeds=len({record.seed for record in records}),
        hypotheses_unmet=unmet,
        caveat=" ".join(filter(None, caveats)),
        curve=finding.curve if finding else None,
    )


def _unmet(check: Check, run: Any) -> list[str]:
    """The hypotheses that a run violates, also where its settings give them no numbers."""
    try:
        return check.hypotheses(run)
    except (ValueError, ArithmeticError):
        return ["settings for which the hypotheses can be computed"]


def _lost_cells(records: Sequence[Record]) -> str:
    """Say how many cells diverged or failed, or nothing."""
    count = Counter(record.status for record in records)
    parts = [f"{count[status]} {status}" for status in ("diverged", "failed") if count[status]]
    return f"Left out of {len(records)} cells: {', '.join(parts)}." if parts else ""


def _sentence(error: Exception) -> str:
    text = one_line(error, "The evaluation failed without a reason")
    return text[0].upper() + text[1:].rstrip(".") + "."


def _lists(value: Any) -> Any:
    """Tuples as JSON knows them."""
    if isinstance(value, dict):
        return {name: _lists(inner) for name, inner in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
