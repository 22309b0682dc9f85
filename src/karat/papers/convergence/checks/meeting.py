"""Check of what it means that a perturbation set is compatible with its data."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.meeting import MEETING, MeetingConfig, MeetingResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding
from karat.study.judging import Undecided, exact_bound, noted
from karat.study.run import Run, examples

MeetingRun = Run[MeetingConfig, MeetingResult]


def _agreed(runs: Sequence[MeetingRun]) -> Finding:
    """Share of pairs that are refused exactly if their caps meet and their labels differ."""
    if not runs:
        raise Undecided("no run was found")
    pairs = sum(run.config.pairs for run in runs)
    refused = sum(run.config.pairs * run.result.refused for run in runs)
    return noted(
        exact_bound(
            [run.result.agreed for run in runs], "at least", 1.0, SHARE, "a point in both caps, or none"
        ),
        f"{round(refused)} of {pairs} pairs are refused.",
    )


_EXAMPLE, _MEASURED = MeetingConfig(d=3), MeetingResult(agreed=1.0, refused=0.25)

CHECKS = (
    Check(
        claim_id="convergence.def3.1.caps",
        experiment=MEETING,
        evaluate=_agreed,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, agreed=0.99))),
        controls=(
            Control(
                name="longer reach",
                removes="formula",
                settings={"reach": 1.02},
                cheap={"d": 6},
                why="points a little outside both caps are no common points",
            ),
        ),
        reading="Caps on the sphere, where the paper keeps all points; closed caps that touch meet.",
    ),
)
