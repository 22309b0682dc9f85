"""Students on inputs with and without structure: which part they learn, and at which size they do best."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.features.checks.images import MISSING
from karat.study.claim import Check, Finding
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.study.record import Record, number


def part_gap(
    size: int | None = None, *, injected: str | None = None, all_alphas: bool = False
) -> Callable[[Sequence[Record]], Finding]:
    """Lead of the original over the injected part at the end, and that in the mean over the steps, if any."""

    def evaluate(records: Sequence[Record]) -> Finding:
        own = [r for r in records if injected is None or r.config["injected"] == injected]
        own = own if all_alphas else [r for r in own if r.config["alpha"] == 0.5]
        if not own:
            raise ValueError(f"no such mixture was run: {MISSING}")
        gaps = [_final(r, size, "original") - _final(r, size, "injected") for r in own]
        finding = lower_bound_finding(gaps, 0.0, deterministic=True)
        slower = min(_mean(r, size, "original") - _mean(r, size, "injected") for r in own)
        first = np.mean([_final(r, size, "original") for r in own])
        second = np.mean([_final(r, size, "injected") for r in own])
        teacher = np.mean(values_of(own, "teacher_test"))
        note = (
            f"Original part {first:.3f}, injected part {second:.3f}; mean lead over the steps at least "
            f"{slower:.3f}; teacher accuracy {teacher:.3f}."
        )
        if len({r.seed for r in own}) == 1:
            note += " One seed only."
        return replace(finding, verdict="fails" if slower <= 0 else finding.verdict, caveat=note)

    return evaluate


def no_clear_gap(records: Sequence[Record]) -> Finding:
    """Lead of the digits over the Gaussian part for FC(9), which the paper calls no significant trend."""
    finding = part_gap(9)(records)
    gaps = [_final(r, 9, "original") - _final(r, 9, "injected") for r in records]
    judged = upper_bound_finding(gaps, 0.05, deterministic=True)
    return replace(judged, caveat=f"{finding.caveat} A lead up to 0.05 is read as no clear gap.")


def clearer_gap(records: Sequence[Record]) -> Finding:
    """The lead of the digits for FC(50), which must also exceed that for FC(9)."""
    finding = part_gap(50)(records)
    small, large = (
        np.mean([_final(r, size, "original") - _final(r, size, "injected") for r in records])
        for size in (9, 50)
    )
    note = f"{finding.caveat} Mean lead {large:.3f} with m = 50, {small:.3f} with m = 9."
    return replace(finding, verdict="fails" if large <= small else finding.verdict, caveat=note)


def _final(record: Record, size: int | None, part: str) -> float:
    return float(_curve(record, size, part)[-1])


def _mean(record: Record, size: int | None, part: str) -> float:
    return float(np.mean(_curve(record, size, part)))


def _curve(record: Record, size: int | None, part: str) -> list[float]:
    """Agreement with the teacher over the steps; without that size, of the largest or the first student."""
    chosen = record.config["students"][-1] if size is None else size
    if chosen not in record.config["students"]:
        chosen = record.config["students"][0]
    curve: list[float] = record.values[f"mixture_{chosen}_{part}"]
    return curve


def foreign_images(records: Sequence[Record]) -> Finding:
    """Tiny ImageNet inputs are learned better than Gaussian ones and worse than originals."""
    foreign = [r for r in records if r.config["injected"] == "tiny_imagenet"]
    noise = [r for r in records if r.config["injected"] == "gaussian" and r.config["alpha"] == 0.5]
    if not foreign or not noise:
        raise ValueError(f"no mixture with Tiny ImageNet was run: {MISSING}")
    middle = float(np.mean([_final(r, None, "injected") for r in foreign]))
    low = float(np.mean([_final(r, None, "injected") for r in noise]))
    high = float(np.mean([_final(r, None, "original") for r in foreign]))
    finding = lower_bound_finding([min(middle - low, high - middle)], 0.0, deterministic=True)
    return replace(finding, caveat=f"Gaussian {low:.3f}, Tiny ImageNet {middle:.3f}, originals {high:.3f}.")


def _paper_students(config: Mapping[str, Any]) -> list[str]:
    if config["net"] != "resnet":
        return [] if config["n"] >= 60_000 else ["Sec E.5.2: all 60,000 digits"]
    unmet = []
    if config["source"] not in ("cifar10", "svhn"):
        unmet.append("Sec E.5.2: CIFAR-10 and SVHN with all ten classes")
    if config["n"] < 50_000:
        unmet.append("Sec E.5.2: the full training sets")
    return unmet


def descent(records: Sequence[Record]) -> Finding:
    """Sizes at the first minimum of the students' test loss: near the smallest teacher's, larger for larger.

    Reading: a loss that falls over all sizes has its minimum beyond them; near means up to 4 units off.
    """
    minima: dict[int, list[float]] = {}
    for r in records:
        if r.config["inputs"] == "gaussian":
            found = number(r.values["minimum"])
            minima.setdefault(r.config["teacher"], []).append(found if found == found else np.inf)
    if len(minima) < 2:
        raise ValueError("the students of at most one teacher were run: there is nothing to compare.")
    teachers = sorted(minima)
    means = [float(np.mean(minima[size])) for size in teachers]
    near = abs(means[0] - teachers[0]) <= 4
    rising = all(later > earlier for earlier, later in itertools.pairwise(means))
    own = ", ".join(f"{number(r.values['minimum']):g}" for r in records if r.config["inputs"] == "original")
    note = "; ".join(f"FC({size}) {mean:g}" for size, mean in zip(teachers, means, strict=True))
    return Finding(
        measured=means[0] if np.isfinite(means[0]) else None,
        interval=None,
        predicted=float(teachers[0]),
        verdict="holds" if near and rising else "fails",
        caveat=f"n = {records[0].values['inputs_used']}. Students' minima by teacher: {note}; "
        f"nets on the images: {own or 'not run'} (inf, nan: beyond the sizes tried).",
    )


def _paper_descent(config: Mapping[str, Any]) -> list[str]:
    return [] if config["n"] >= 60_000 else ["Sec E.5.4: all 60,000 digits"]


def _students(item: str, experiment: str, evaluate: Callable[[Sequence[Record]], Finding]) -> Check:
    return Check(
        claim_id=f"features.{item}",
        experiment=f"features.{experiment}",
        evaluate=evaluate,
        hypotheses=_paper_students,
        reading="Agreement with the teacher's labels on both parts; alpha is the share of injected inputs.",
    )


CHECKS = (
    _students("fig22", "fig22", no_clear_gap),
    _students("fig22.images", "fig24", part_gap(injected="gaussian")),
    _students("fig25", "fig22", clearer_gap),
    _students("fig23", "fig24", foreign_images),
    _students("fig24", "fig24", part_gap(injected="gaussian", all_alphas=True)),
    Check(
        claim_id="features.fig26",
        experiment="features.fig26",
        evaluate=descent,
        hypotheses=_paper_descent,
        reported="minimum near 9 for the teacher and the student of FC(9)",
        reading="First local minimum of the test loss over the sizes tried; up to 4 units off is near.",
    ),
)
