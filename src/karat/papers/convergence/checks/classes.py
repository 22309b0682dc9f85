"""Checks of the capacity bound on the smallest classes: the printed ceiling, and a tight case."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.classes import CLASSES, ClassesConfig, ClassesResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding
from karat.study.judging import Undecided, all_of, exact_bound, identity, noted
from karat.study.run import Run, examples

ClassesRun = Run[ClassesConfig, ClassesResult]

EXACT = "a halfspace for every pair and labelling, and linear algebra for the VC dimension"


def _robustly_interpolates(runs: Sequence[ClassesRun]) -> Finding:
    """Every point set and labelling has a member that is constant on all balls."""
    return exact_bound([run.result.robust for run in runs], "at least", 1.0, SHARE, EXACT)


def _ceiling(runs: Sequence[ClassesRun]) -> Finding:
    """VC dimension over ceil(n/2) d, for all classes."""
    if not runs:
        raise Undecided("no run was found")
    ratios = [_largest(run) / (-(-run.result.n // 2) * run.config.d) for run in runs]
    words = dict.fromkeys(
        f"{run.config.family}, n = {run.result.n}, d = {run.config.d}: {_largest(run)}" for run in runs
    )
    return noted(
        all_of(exact_bound(ratios, "at least", 1.0, RATIO, EXACT), _robustly_interpolates(runs)),
        f"VC dimension over ceil(n/2) d. VC dimensions: {'; '.join(words)}.",
    )


def _tight(runs: Sequence[ClassesRun]) -> Finding:
    """VC dimension of halfspaces, from both sides, over floor(n/2) d + 1."""
    pairs = [run for run in runs if run.result.n == 2]
    if not pairs:
        raise Undecided("no run has a class for pairs")
    ratios = [
        side / ((run.result.n // 2) * run.config.d + 1)
        for run in pairs
        for side in (run.result.shattered, _largest(run))
    ]
    return all_of(identity(ratios, 1.0, RATIO), _robustly_interpolates(pairs))


def _largest(run: ClassesRun) -> int:
    """The largest VC dimension that is left."""
    return run.result.unshattered - 1


_PAIRS = ClassesConfig(family="halfspaces", d=4)
_HALFSPACES = ClassesResult(n=2, robust=1.0, shattered=5, unshattered=6)
_ONE = ClassesConfig(family="constants", d=4)

CHECKS = (
    Check(
        claim_id="convergence.thm6.1.ceil",
        experiment=CLASSES,
        evaluate=_ceiling,
        satisfied=examples((_PAIRS, _HALFSPACES)),
        violated=examples(
            (_PAIRS, _HALFSPACES), (_ONE, ClassesResult(n=1, robust=1.0, shattered=1, unshattered=2))
        ),
        controls=(
            Control(
                name="one function",
                removes="learner",
                settings={"family": "one constant"},
                why="the constant 1 alone does not interpolate the label -1",
            ),
        ),
        reading="As the proof opens. A class of two constants interpolates one point robustly.",
    ),
    Check(
        claim_id="convergence.thm6.1.tight",
        experiment=CLASSES,
        evaluate=_tight,
        satisfied=examples((_PAIRS, _HALFSPACES)),
        violated=examples((_PAIRS, replace(_HALFSPACES, unshattered=9))),
        controls=(
            Control(
                name="planes through 0",
                removes="structure",
                settings={"family": "halfspaces through 0"},
                why="without an offset no plane passes between two balls off the origin",
            ),
        ),
        reading="Pairs at 2.002 tau, all labellings; d + 1 points are shattered, d + 2 have weights that no "
        "halfspace follows.",
    ),
)
