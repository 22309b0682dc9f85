"""The check on the slope of the loss: no net is wrong more often than twice the mean of loss'."""

from collections.abc import Sequence

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.experiments.kinetics import KINETICS, KineticsResult
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding
from karat.study.judging import exact_bound, noted
from karat.study.run import Run, examples


def _steep(runs: Sequence[Run[StepConfig, KineticsResult]]) -> Finding:
    """The mean of loss' less half the error, on the same points, at every stop: never below zero."""
    rows = [run.result for run in runs]
    excess = [slope - error / 2 for row in rows for slope, error in zip(row.slope, row.error, strict=True)]
    last = rows[-1]
    return noted(
        exact_bound(excess, "at least", 0.0, RATIO, "the same points on both sides"),
        f"At the last stop E loss' is {last.slope[-1]:.3f} and the error {last.error[-1]:.3f}.",
    )


def _cell(slope: float) -> tuple[StepConfig, KineticsResult]:
    return StepConfig(d=200, k=14), made_up(KineticsResult, slope=[0.5, slope], error=[0.5, 0.3])


CHECKS = (
    Check(
        claim_id="purification.sec4.slope",
        experiment=KINETICS,
        evaluate=_steep,
        satisfied=examples(_cell(0.2)),
        violated=examples(_cell(0.1)),
        controls=(
            Control(
                name="errors against turned labels",
                removes="labels",
                settings={"step_labels": "turned"},
                cheap={"batch": 256, "n_test": 1000, "d": 50, "k": 7},
                why="Wrong answers by labels that the loss does not know are not bounded by its slope.",
            ),
        ),
        reading="The constant of Omega(.) is 1/2: a point on the wrong side, or at f = 0, has loss' >= 1/2. "
        "f is the smoothed output, for which the sentence is the same.",
    ),
)
