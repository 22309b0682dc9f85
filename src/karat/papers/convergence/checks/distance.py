"""Checks of the distance from the start to the optimum, on which the number of steps of Theorem 4.1 rests."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.papers.convergence.checks.deep import EXAMPLE, MEASURED, DeepRun
from karat.papers.convergence.experiments.deep import THM41
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding
from karat.study.judging import Undecided, exact_bound, noted
from karat.study.run import examples, grouped


def _distance_printed(runs: Sequence[DeepRun]) -> Finding:
    """The squared distance of W_* from the start over R^2/m."""
    return _distances(runs, lambda run: run.result.target_distance)


def _distance_repaired(runs: Sequence[DeepRun]) -> Finding:
    """The squared distance of W_* from the start over H R^2/m."""
    return _distances(runs, lambda run: run.result.target_distance / run.config.depth)


def _distances(runs: Sequence[DeepRun], value: Callable[[DeepRun], float]) -> Finding:
    if not runs:
        raise Undecided("no run was found")
    by_depth = sorted(grouped(runs, lambda run: run.config.depth).items())
    largest = ", ".join(
        f"{depth}: {max(run.result.target_distance for run in c):.2f}" for depth, c in by_depth
    )
    return noted(
        exact_bound([value(run) for run in runs], "at most", 1.0, RATIO, "lengths of one displacement each"),
        f"Largest m d_0^2/R^2 by depth: {largest}.",
    )


_LARGER_BALL = Control(
    name="larger ball",
    removes="ball",
    settings={"target_radius": 3.0},
    cheap={"m": 64, "steps": 1},
    why="the best displacement of a ball of three times the radius lies outside the ball itself",
)


def _distance(
    claim_id: str, evaluate: Callable[[Sequence[DeepRun]], Finding], *, holding: float, failing: float
) -> Check:
    return Check(
        claim_id=claim_id,
        experiment=THM41,
        evaluate=evaluate,
        satisfied=examples((EXAMPLE, replace(MEASURED, target_distance=holding))),
        violated=examples((EXAMPLE, replace(MEASURED, target_distance=failing))),
        controls=(_LARGER_BALL,),
        reading="Judged is the best linearised displacement of the ball, which stands for W_*: where the "
        "best of all nets lies is not certified. Each of H layers may move by R/sqrt(m), so that d_0^2 may "
        "be H R^2/m; the text bounds it by R^2/m for no other reason than that W_* is in the ball.",
    )


CHECKS = (
    _distance("convergence.thm4.1.distance", _distance_printed, holding=0.9, failing=1.9),
    _distance("convergence.thm4.1.distance.repaired", _distance_repaired, holding=1.9, failing=2.1),
)
