"""A claim is a statement with what the paper reports, what its formula predicts and what we measured."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from karat.core.statistics import Interval
from karat.errors import one_line
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Curve, Finding
from karat.study.hypothesis import Entry, ledger_of
from karat.study.judging.common import MOST_SEEDS, SEEDS, Evidence, Undecided, judged_on, looked
from karat.study.judging.kinds import EXACT, rules_in
from karat.study.record import Record
from karat.study.run import Runs, read_runs
from karat.study.statement import Kind, Origin, Statement

Verdict = Literal["holds", "fails", "inconclusive", "vacuous", "out of regime"]
ClaimStatus = Literal["stated", "executable"]
Grounds = Literal["exact", "every draw", "chance"]
"""Exact numbers that no chance can turn; exact numbers of random draws, any of which refutes and so many of
which do not prove; and numbers with an interval."""


SILENT_CONTROLS = "No control has shown yet that it could be otherwise."
_ADDED = (
    "The number of seeds is not the planned one, perhaps after a look: intervals are anytime-valid, right at "
    "every number of seeds, and wider."
)


@dataclass(frozen=True, kw_only=True)
class ControlOutcome:
    """What a check said in a world without the statement's reason.

    Args:
        control: the world.
        holds: whether the point estimate satisfies the statement there; None if the control has not run, or
            says nothing: no finite number, a bound that is vacuous there.
        measured: the number that was compared.
        predicted: what the formula says there.
    """

    control: Control
    holds: bool | None
    measured: float | None = None
    predicted: float | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement judged on the records at hand.

    Args:
        id: of the statement.
        paper: its key.
        title: the statement in one sentence.
        kind: of the statement.
        origin: whose sentence it is.
        status: whether a check judges it.
        verdict: None until something was measured, and when the check itself failed.
        reported: the paper's number.
        predicted: the formula's.
        measured: ours.
        unit: of the numbers.
        interval: of ours, over seeds or draws.
        scale: preset of the records.
        seeds: behind them.
        images: the image sets behind them, from the setting `source`.
        ledger: the hypotheses at the settings that were looked at.
        controls: the same check where it must not hold.
        caveat: what a reader must know beside the numbers.
        trace: the rules that led to the verdict, outermost first.
        grounds: what kind of numbers decided.
        p_value: of a decided verdict.
        resolution: the deviation that the measurement could have seen.
        settles: what would settle an open verdict.
        seeds_needed: how many seeds would, in all.
        error: what went wrong in the check itself; never a verdict.
        curve: where the prediction is one.
    """

    id: str
    paper: str
    title: str
    kind: Kind
    origin: Origin
    status: ClaimStatus
    verdict: Verdict | None = None
    reported: float | str | None = None
    predicted: float | None = None
    measured: float | None = None
    unit: str = ""
    interval: Interval | None = None
    scale: str | None = None
    seeds: int = 0
    images: tuple[str, ...] = ()
    ledger: tuple[Entry, ...] = ()
    controls: tuple[ControlOutcome, ...] = ()
    caveat: str = ""
    trace: tuple[str, ...] = ()
    grounds: Grounds = "chance"
    p_value: float | None = None
    resolution: float | None = None
    settles: str = ""
    seeds_needed: int | None = None
    error: str = ""
    curve: Curve | None = None

    @property
    def hypotheses_unmet(self) -> tuple[str, ...]:
        """The hypotheses that put the claim out of its regime, with their numbers."""
        return tuple(str(entry.condition) for entry in self.ledger if entry.status == "unmet")


def judge_claim(
    statement: Statement,
    check: Check | None,
    records: Sequence[Record],
    scale: str | None = None,
    controls: Mapping[str, Sequence[Record]] | None = None,
    *,
    added: bool = False,
    missing: int = 0,
) -> Claim:
    """Judge a statement on the records of its experiments: the only place that gives verdicts.

    Reading: diverged and failed cells are left out of the numbers and named in the caveat; if nothing but
    diverged cells is left the claim is `inconclusive`, if all failed it stays unjudged. Hypotheses count at
    the settings whose results the evaluation read; one that is unmet puts the claim `out of regime`. A claim
    whose control holds as well is `inconclusive`: its check tests something else. An exception of the check
    is an error of ours, shown as such, and never a verdict.

    Args:
        statement: what the paper says.
        check: how it is tested, None if it cannot be yet.
        records: cells of the check's experiments; others are ignored.
        scale: the preset they belong to.
        controls: name of a control -> its records.
        added: whether the number of seeds is not the planned one; intervals are then anytime-valid, and the
            claim says so.
        missing: how many planned cells have no record yet; until then nothing is decided.
    """
    blank = _blank(statement, check, scale)
    if check is None:
        return blank
    if check.claim_id != statement.id:
        raise ValueError(f"the check of {check.claim_id!r} cannot judge the claim {statement.id!r}.")
    own = [record for record in records if record.experiment in check.names]
    blank = replace(blank, seeds=len({record.seed for record in own}), caveat=_lost_cells(own))
    try:
        runs = read_runs(check.experiment, own, check.beside)
    except KeyError as error:
        older = f"The records hold no value {error}: they are older than this check, run it again."
        return replace(blank, caveat=" ".join(filter(None, [older, blank.caveat])))
    except (ValueError, TypeError, AttributeError) as error:
        strange = f"The records do not fit this check ({one_line(error)}): run it again."
        return replace(blank, caveat=" ".join(filter(None, [strange, blank.caveat])))
    try:
        blank = replace(blank, controls=_control_outcomes(check, controls or {}))
        if not runs:
            diverged = any(record.status == "diverged" for record in own)
            return replace(blank, verdict="inconclusive" if diverged else None)
        seeds = len({run.seed for run in runs})
        with judged_on(Evidence(added=added, seeds=seeds)):
            return _judged(blank, check, runs, missing, seeds)
    except Exception as error:
        # One check, perhaps of somebody else's package, must not keep the others from their verdicts.
        return replace(blank, error=f"the check failed ({type(error).__name__}: {_sentence(error)})")


def _judged(blank: Claim, check: Check, runs: Runs[Any, Any], missing: int, seeds: int) -> Claim:
    watched, read = runs.watched()
    finding, why = _evaluated(check, watched)
    looked_at = [runs[index] for index in sorted(read)] or list(runs)
    ledger = ledger_of(check, looked_at)
    if finding is None and not why:
        raise TypeError("`evaluate` returned nothing; it must return a finding or raise `Undecided`")
    grounds = _grounds(check, finding)
    if finding is not None and grounds != "exact":
        finding = _of_draws(finding, grounds, seeds)
    verdict, notes = _verdict(check, finding, ledger, blank.controls, _lost(runs, missing))
    images = tuple(sorted({str(source) for run in looked_at if (source := _source(run.config))}))
    claim = replace(blank, verdict=verdict, ledger=ledger, images=images)
    if finding is None:
        return replace(claim, caveat=" ".join(filter(None, [why, blank.caveat])))
    needed = _seeds_needed(finding, blank.seeds) if verdict == "inconclusive" else None
    return replace(
        claim,
        predicted=finding.predicted,
        measured=finding.measured,
        unit=finding.unit.name,
        interval=finding.interval,
        caveat=" ".join(filter(None, [*notes, *finding.notes, _added(finding), blank.caveat])),
        trace=finding.trace,
        grounds=grounds,
        p_value=finding.p_value if verdict in ("holds", "fails") else None,
        resolution=finding.resolution,
        settles=_settles(verdict, needed, ledger),
        seeds_needed=needed,
        curve=finding.curve,
    )


def _source(config: object) -> object:
    """The images of a run; experiments on real images call this setting `source`."""
    return getattr(config, "source", None)


def _added(finding: Finding) -> str:
    """Say that intervals allow for seeds added after a look; exact numbers have none."""
    return _ADDED if looked() and not rules_in(finding.trace) <= EXACT else ""


def _grounds(check: Check, finding: Finding | None) -> Grounds:
    """What kind of numbers decided: of several parts that must hold, an exact one alone can refute."""
    if finding is None or not finding.trace:
        return "chance"
    refuted = finding.outcome == "fails" and finding.interval is None
    if not refuted and not rules_in(finding.trace) <= EXACT:
        return "chance"
    return "every draw" if check.draws else "exact"


def _of_draws(finding: Finding, grounds: Grounds, seeds: int) -> Finding:
    """A finding about random draws: few seeds decide nothing, and so many draws do not prove all of them."""
    refuted = grounds == "every draw" and finding.outcome == "fails"
    if finding.outcome not in ("holds", "fails") or refuted:
        return finding
    if seeds < SEEDS:
        note = f"{seeds} of the {SEEDS} seeds that a random quantity needs at least."
        needed = finding.seeds_needed or SEEDS
        return replace(
            finding, outcome="inconclusive", p_value=None, seeds_needed=needed, notes=(note, *finding.notes)
        )
    # Were exceptions as likely as not, so many draws without one would have this probability.
    return replace(finding, p_value=0.5**seeds) if grounds == "every draw" else finding


def _evaluated(check: Check, runs: Runs[Any, Any]) -> tuple[Finding | None, str]:
    """What the check finds, or why the runs hold no answer."""
    try:
        return check.evaluate(runs), ""
    except Undecided as reason:
        return None, _sentence(reason)


def _verdict(
    check: Check,
    finding: Finding | None,
    ledger: Sequence[Entry],
    outcomes: Sequence[ControlOutcome],
    lost: str,
) -> tuple[Verdict, list[str]]:
    """The outcome of a finding as its hypotheses, lost cells and controls leave it, and what they say."""
    verdict: Verdict = "inconclusive" if finding is None else finding.outcome
    if any(entry.status == "unmet" for entry in ledger):
        return "out of regime", []
    if lost and (verdict == "holds" or (verdict == "fails" and "not run" in lost)):
        return "inconclusive", [lost]
    if verdict != "holds":
        return verdict, []
    survived = [outcome.control.name for outcome in outcomes if outcome.holds]
    if survived:
        note = f"The control holds as well ({', '.join(survived)}): the check tests something else."
        return "inconclusive", [note]
    if check.controls and not any(outcome.holds is False for outcome in outcomes):
        return "inconclusive", [SILENT_CONTROLS]
    return verdict, []


def _lost(runs: Runs[Any, Any], missing: int) -> str:
    """What keeps a claim open: planned cells without a result might not agree with the others."""
    count = Counter(record.status for record in runs.all_lost)
    parts = [f"{count[status]} {status}" for status in ("diverged", "failed") if count[status]]
    parts += [f"{missing} have not run"] if missing else []
    return f"Of the planned cells {', '.join(parts)}, and might not agree with the others." if parts else ""


def _control_outcomes(check: Check, records: Mapping[str, Sequence[Record]]) -> tuple[ControlOutcome, ...]:
    return tuple(
        _control_outcome(check, control, records.get(control.name, ())) for control in check.controls
    )


def _control_outcome(check: Check, control: Control, records: Sequence[Record]) -> ControlOutcome:
    """The point estimate decides: a control has few seeds, and must not even look like the statement."""
    try:
        runs = read_runs(check.experiment, records, check.beside)
    except (KeyError, ValueError, TypeError, AttributeError):  # records of an older check
        return ControlOutcome(control=control, holds=None)
    if not runs:
        return ControlOutcome(control=control, holds=None)
    finding, _ = _evaluated(check, runs)
    if finding is None:
        return ControlOutcome(control=control, holds=False if control.unanswered else None)
    says = finding.leaning if finding.outcome != "vacuous" else "inconclusive"
    if says == "inconclusive" and control.unanswered:
        says = "fails"
    return ControlOutcome(
        control=control,
        holds={"holds": True, "fails": False}.get(says),
        measured=finding.measured,
        predicted=finding.predicted,
    )


def _seeds_needed(finding: Finding, seeds: int) -> int | None:
    """How many seeds would settle an open finding; draws grow with the seeds."""
    wanted = [math.ceil(seeds * finding.draws_needed)] if finding.draws_needed else []
    wanted += [finding.seeds_needed] if finding.seeds_needed else []
    needed = max([SEEDS, *wanted]) if wanted else None
    return needed if needed is not None and needed <= MOST_SEEDS else None


def _settles(verdict: Verdict, needed: int | None, ledger: Sequence[Entry]) -> str:
    """What would settle an open verdict."""
    if needed:
        return f"about {needed} seeds at the present spread"
    if verdict == "out of regime":
        worst = max(
            (entry.condition for entry in ledger if entry.status == "unmet"), key=lambda one: one.excess
        )
        factor = f", now off by a factor {worst.excess:.3g}" if 1 < worst.excess < math.inf else ""
        return f"a setting with {worst.name}{factor}"
    return ""


def claim_json(claim: Claim) -> dict[str, Any]:
    """Return the claim as strict JSON: the interval as [low, high], numbers that are not finite as null.

    Args:
        claim: any.
    """
    interval = claim.interval
    ends = None if interval is None else [_finite(interval.low), _finite(interval.high)]
    return vars(claim) | {
        "reported": claim.reported if isinstance(claim.reported, str) else _finite(claim.reported),
        "predicted": _finite(claim.predicted),
        "measured": _finite(claim.measured),
        "interval": None if ends is None or None in ends else ends,
        "hypotheses_unmet": list(claim.hypotheses_unmet),
        "ledger": [_plain(asdict(entry)) for entry in claim.ledger],
        "controls": [_plain(asdict(outcome)) for outcome in claim.controls],
        "images": list(claim.images),
        "trace": list(claim.trace),
        "curve": None if claim.curve is None else _plain(asdict(claim.curve)),
    }


def _blank(statement: Statement, check: Check | None, scale: str | None) -> Claim:
    return Claim(
        id=statement.id,
        paper=statement.paper,
        title=statement.title,
        kind=statement.kind,
        origin=statement.origin,
        status="stated" if check is None else "executable",
        reported=None if check is None else check.reported,
        scale=scale,
    )


def _lost_cells(records: Sequence[Record]) -> str:
    """Say how many cells diverged or failed, or nothing."""
    count = Counter(record.status for record in records)
    parts = [f"{count[status]} {status}" for status in ("diverged", "failed") if count[status]]
    return f"Left out of {len(records)} cells: {', '.join(parts)}." if parts else ""


def _sentence(error: Exception) -> str:
    text = one_line(error, "the evaluation failed without a reason")
    return text[0].upper() + text[1:].rstrip(".") + "."


def _plain(value: Any) -> Any:
    """Lists, texts and finite numbers, as strict JSON knows them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return _finite(value) if isinstance(value, float) else value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
