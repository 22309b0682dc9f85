"""What would settle an open verdict: the command to run and what it will cost."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from karat.core.texts import duration
from karat.study.check import Check
from karat.study.claim import SILENT_CONTROLS, Claim
from karat.study.experiment import SCALES, Cell, cells
from karat.study.hypothesis import HypothesesError, conditions_at
from karat.study.judging.common import SEEDS
from karat.study.plan import Plan
from karat.study.record import Record


@dataclass(frozen=True, kw_only=True)
class Settling:
    """A way to a decided verdict.

    Args:
        what: is missing, such as `about 12 seeds at the present spread`.
        command: that brings it, empty if no run can.
        seconds: of CPU time that the command will take; None if it only searches, or where there is none.
    """

    what: str
    command: str = ""
    seconds: float | None = None

    def __str__(self) -> str:
        """What is missing, with the command and its cost.

        >>> str(Settling(what="about 12 seeds", command="karat check lazy.fig5 --seeds 12", seconds=41.3))
        'about 12 seeds: `karat check lazy.fig5 --seeds 12`, about 41 s of CPU time'
        """
        cost = "" if self.seconds is None else f", about {duration(self.seconds)} of CPU time"
        return self.what + (f": `{self.command}`{cost}" if self.command else "")


def settling(
    claim: Claim, check: Check, plan: Plan, records: Iterable[Record], settings: Sequence[str] = ()
) -> Settling | None:
    """Return what would settle an open verdict; None if it is not open.

    Reading: cells cost what the same settings have cost; controls, which are mostly smaller, as much as the
    mean of all records; a larger scale what its preset says.

    Args:
        claim: as it was judged.
        check: of the claim.
        plan: its cells and those of its controls.
        records: of these cells, as far as they have run.
        settings: texts KEY=VALUE that the user has changed.
    """
    if claim.scale is None or claim.verdict not in ("inconclusive", "out of regime"):
        return None
    changed = "".join(f" --set {shlex.quote(text)}" for text in settings)
    options = f"{claim.id} --scale {claim.scale}{changed}"
    if claim.verdict == "out of regime":
        larger = None if settings else _inside(check, claim.scale)
        what = claim.settles or f"a setting with {claim.hypotheses_unmet[0]}"
        # No search over numbers finds other images.
        search = check.experiment.part != "images"
        command = f"karat regime {options}" if search else f"KARAT_DATA=FOLDER karat check {options}"
        return larger or Settling(what=what, command=command)
    if any(outcome.holds for outcome in claim.controls):
        return Settling(what="another check, no run: its control holds as well")
    if "KARAT_DATA" in claim.caveat:
        return Settling(what="image data", command=f"KARAT_DATA=FOLDER karat check {options}")
    held = list(records)
    if SILENT_CONTROLS in claim.caveat:
        planned = [cell for group in plan.controls.values() for cell in group]
        if not {cell.key for cell in planned}.isdisjoint(record.key for record in held):
            return Settling(what="another control, no run: those there are say nothing at this size")
        command = f"karat check {options} --controls"
        return Settling(what="its controls", command=command, seconds=_cost(planned, held))
    if needed := _seeds(claim):
        firsts = {cell.config_hash: cell for cell in plan.cells}.values()
        added = [cell.with_seed(seed) for cell in firsts for seed in range(claim.seeds, needed)]
        command = f"karat check {options} --seeds {needed}"
        return Settling(what=_seeds_text(claim, needed), command=command, seconds=_cost(added, held))
    return None if settings else _larger(check, claim.scale)


def _seeds(claim: Claim) -> int | None:
    """How many seeds are needed in all, if seeds are what is missing."""
    return claim.seeds_needed or (SEEDS if 0 < claim.seeds < SEEDS else None)


def _seeds_text(claim: Claim, needed: int) -> str:
    few = claim.seeds < SEEDS
    return f"the {SEEDS} seeds that a random quantity needs" if few else f"about {needed} seeds in all"


def _inside(check: Check, scale: str) -> Settling | None:
    """The next scale at which every hypothesis that can be looked at is met."""
    for larger in _scales_above(check, scale):
        configs = {cell.config_hash: cell.config for cell in cells(check.experiment, larger, 1)}
        if all(_holds_at(check, config) for config in configs.values()):
            return _at_scale(check, larger, f"the settings of scale `{larger}`, inside the hypotheses")
    return None


def _holds_at(check: Check, config: Any) -> bool:
    try:
        return all(one.status != "unmet" for one in conditions_at(check, config))
    except HypothesesError:  # judging there would say so
        return False


def _larger(check: Check, scale: str) -> Settling | None:
    """The next scale at which the check makes sense, with more sizes, seeds or both."""
    scales = _scales_above(check, scale)
    return _at_scale(check, scales[0], f"perhaps the sizes of scale `{scales[0]}`") if scales else None


def _scales_above(check: Check, scale: str) -> list[str]:
    experiments = (check.experiment, *check.beside)
    return [
        larger
        for larger in SCALES[SCALES.index(scale) + 1 :]
        if larger in check.scales and all(larger in one.presets for one in experiments)
    ]


def _at_scale(check: Check, scale: str, what: str) -> Settling:
    seconds = sum(
        one.preset(scale).cell_seconds * len(cells(one, scale)) for one in (check.experiment, *check.beside)
    )
    return Settling(what=what, command=f"karat check {check.claim_id} --scale {scale}", seconds=seconds)


def _cost(wanted: Iterable[Cell], records: Sequence[Record]) -> float | None:
    """CPU seconds of further cells: what their settings have cost, or else the mean of all records."""
    times: dict[str, list[float]] = {}
    for record in records:
        times.setdefault(record.config_hash, []).append(record.cpu_seconds)
    if not times:
        return None
    mean = fmean(record.cpu_seconds for record in records)
    return sum(fmean(times.get(cell.config_hash, [mean])) for cell in wanted)
