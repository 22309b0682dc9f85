"""On what each verdict rests: proofs, exact numbers, measurements, and what is assumed or waived."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karat.report.collect import Content, Judged
from karat.study.hypothesis import Status
from karat.study.judging.kinds import rules_in


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """The claims of a report by what their verdicts rest on.

    Args:
        proven: worst cases bounded by certificates.
        exact: identities and comparisons of exact numbers, which chance cannot turn.
        every_draw: comparisons of exact numbers of random draws.
        measured: means, exponents and shares with intervals.
        assumed: hypotheses that no run can look at -> the claims that have them.
        waived: hypotheses that the paper itself waives -> the claims that have them.
        controls: how many controls ran, and how many of them held as well.
    """

    proven: tuple[Judged, ...]
    exact: tuple[Judged, ...]
    every_draw: tuple[Judged, ...]
    measured: tuple[Judged, ...]
    assumed: Mapping[str, Sequence[Judged]]
    waived: Mapping[str, Sequence[Judged]]
    controls: tuple[int, int]


def grounds_of(content: Content) -> Grounds:
    """Sort the decided claims by what they rest on, and collect what is assumed and waived.

    Args:
        content: of the report.
    """
    decided = [item for item in content.judged if item.claim.verdict in ("holds", "fails")]
    held = [item for item in decided if item.claim.verdict == "holds"]
    proven = [item for item in held if "certified" in rules_in(item.claim.trace)]
    exact, every_draw = (
        [item for item in decided if item not in proven and item.claim.grounds == grounds]
        for grounds in ("exact", "every draw")
    )
    outcomes = [outcome.holds for item in content.judged for outcome in item.claim.controls]
    return Grounds(
        proven=tuple(proven),
        exact=tuple(exact),
        every_draw=tuple(every_draw),
        measured=tuple(item for item in decided if item not in (*proven, *exact, *every_draw)),
        assumed=_with_status(content, "not checkable"),
        waived=_with_status(content, "waived"),
        controls=(sum(held is not None for held in outcomes), sum(bool(held) for held in outcomes)),
    )


def _with_status(content: Content, status: Status) -> dict[str, list[Judged]]:
    """The hypotheses of one status, each once with all its claims."""
    claims: dict[str, list[Judged]] = {}
    for item in content.judged:
        for entry in item.claim.ledger:
            if entry.status == status:
                claims.setdefault(str(entry.condition), []).append(item)
    return claims
