"""Figure 26: the size at which a student fits a teacher's labels best."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from karat.papers.features.checks.images import STILL
from karat.papers.features.experiments.descent import FIG26, DescentConfig, DescentResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import COUNT, Finding, Margin, Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, all_of, bound, equal, noted
from karat.study.run import Run, examples, grouped

DescentRun = Run[DescentConfig, DescentResult]

FACTOR = Unit("decades of size")

NEAR = Margin(4.0, "the sizes that are tried around 9 are this far apart")


def descent(runs: Sequence[DescentRun]) -> Finding:
    """Sizes at the first minimum of the students' test loss: near the smallest teacher's, larger for larger.

    Reading: a loss that falls over all sizes has its minimum beyond them, at twice the largest size or later.
    """
    by_inputs = grouped(runs, lambda run: run.config.inputs)
    by_teacher = dict(sorted(grouped(by_inputs.get("gaussian", []), lambda run: run.config.teacher).items()))
    if len(by_teacher) < 2:
        raise Undecided("the students of at most one teacher were run: there is nothing to compare.")
    minima = {size: {run.seed: _minimum(run) for run in group} for size, group in by_teacher.items()}
    smallest = next(iter(minima))
    parts = [equal(list(minima[smallest].values()), smallest, NEAR, COUNT)]
    for small, large in itertools.pairwise(minima):
        growth = _growth(minima[small], minima[large], _beyond(by_teacher[small][0].config))
        if growth:
            # A minimum that stays where it was has moved by zero decades, which is not right.
            parts.append(bound(growth, "at least", 0.01, FACTOR))
    if len(parts) == 1:
        raise Undecided("all minima lie beyond the sizes that were tried.")
    listed = "; ".join(f"FC({size}) {np.mean(list(of.values())):.3g}" for size, of in minima.items())
    on_images = ", ".join(f"{run.result.minimum:g}" for run in by_inputs.get("original", []))
    return noted(
        all_of(*parts),
        f"n = {runs[0].result.inputs_used}. Students' minima by teacher: {listed}; nets on the images: "
        f"{on_images or 'not run'} (nan: beyond the sizes tried).",
    )


def _beyond(config: DescentConfig) -> float:
    return 2.0 * config.sizes[-1]


def _minimum(run: DescentRun) -> float:
    return _beyond(run.config) if math.isnan(run.result.minimum) else run.result.minimum


def _growth(small: dict[int, float], large: dict[int, float], beyond: float) -> list[float]:
    """Decades from the minimum of one teacher's students to that of a larger one's, seed by seed.

    Two minima beyond the sizes cannot be compared.
    """
    seeds = sorted(small.keys() & large.keys())
    return [math.log10(large[seed] / small[seed]) for seed in seeds if small[seed] < beyond]


def _paper_descent(config: DescentConfig) -> list[Condition]:
    return [
        is_so("Sec E.5.4: MNIST", config.source == "mnist"),
        at_least("Sec E.5.4: all 60,000 digits", config.n, 60_000),
    ]


UNTRAINED_SIZES = Control(
    name="no training",
    removes="training",
    settings={"lr": STILL, "epochs": 1},
    cheap={"source": "digits", "n": 300},
    why="Nets that never learn have no best size.",
)


def _minima(**minima: float) -> list[DescentRun]:
    """Students of the teachers FC(9) and FC(50)."""
    return examples(
        *(
            (
                DescentConfig(inputs="gaussian", teacher=teacher, sizes=(3, 9, 30)),
                DescentResult(
                    sizes=[3, 9, 30],
                    test_loss=[2.0, 1.0, 2.0],
                    test=[0.5] * 3,
                    minimum=at,
                    inputs_used=60_000,
                ),
            )
            for teacher, at in zip((9, 50), minima.values(), strict=True)
        )
    )


CHECKS = (
    Check(
        claim_id="features.fig26",
        experiment=FIG26,
        evaluate=descent,
        conditions=_paper_descent,
        satisfied=_minima(nine=9.0, fifty=30.0),
        violated=_minima(nine=9.0, fifty=9.0),
        controls=(UNTRAINED_SIZES,),
        reported="minimum near 9 for the teacher and the student of FC(9)",
        reading="First local minimum of the test loss over the sizes tried; up to 4 units off is near.",
    ),
)
