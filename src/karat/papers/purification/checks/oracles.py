"""Checks of Section 3: what a linear and a thresholded classifier tolerate."""

from collections.abc import Sequence

from karat.papers.purification.bounds_hypotheses import of_the_data
from karat.papers.purification.checks.readings import SMALL, average, halfway
from karat.papers.purification.experiments.oracles import ORACLES, OraclesConfig, OraclesResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import ACCURACY, ERROR, Finding
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, certified, exact_bound, limit, noted, rate
from karat.study.run import Run, examples

OracleRuns = Sequence[Run[OraclesConfig, OraclesResult]]

COIN = 0.75
"""Half-way between a coin and a perfect classifier."""


def linear(every: OracleRuns) -> Finding:
    """The linear classifier: perfect without noise, at a distance 1/sqrt(d) of it, and lost at sigma_x ~ 1.

    Args:
        every: runs without noise in at least three dimensions, and runs with it.
    """
    quiet, noisy = _quiet(every), [run for run in every if run.config.sigma_x > 0]
    if not noisy:
        raise Undecided("no run with noise has finished")
    d, distances = curves(
        quiet, lambda run: float(run.config.dimension), lambda run: run.result.linear_distance
    )
    accuracy = [run.result.linear_accuracy for run in noisy]
    hard = [run.result.hard_accuracy for run in noisy]
    return noted(
        all_of(
            # k ~ sqrt(d) here, so that the thresholded oracle's 1/sqrt(k) would be d^(-1/4).
            rate(d, distances, -0.5, halfway(0.25, "the thresholded oracle, 1/sqrt(k) = d^-0.25")),
            exact_bound(
                [run.result.linear_accuracy for run in quiet],
                "at least",
                1.0,
                ACCURACY,
                "labels are linear in z",
            ),
            bound(accuracy, "at most", COIN, ACCURACY),
            bound(hard, "at least", COIN, ACCURACY),
        ),
        f"Mean distance from the boundary: {_listed(d, distances)}. At sigma_x = "
        f"{noisy[0].config.sigma_x:g} and d = {noisy[0].config.dimension} the accuracy is "
        f"{average(accuracy):.3f}, that of the thresholded oracle {average(hard):.3f}.",
    )


def threshold(every: OracleRuns) -> Finding:
    """The robust error of the thresholded oracle at a radius o(1/sqrt(k)): small, and falling with k.

    Args:
        every: runs without noise at three sparsities or more; others are left out.
    """
    runs = _quiet(every)
    k, above = curves(runs, lambda run: float(run.config.k), lambda run: 1 - run.result.hard_certified)
    last = [run for run in runs if run.config.k == max(k)]
    return noted(
        all_of(
            limit(k, above),
            certified(
                [1 - run.result.hard_attacked for run in last],
                [1 - run.result.hard_certified for run in last],
                SMALL,
                ERROR,
            ),
        ),
        f"Certified end of the robust error at tau = k^-{runs[0].config.power:g}: {_listed(k, above)}.",
    )


def _quiet(every: OracleRuns) -> list[Run[OraclesConfig, OraclesResult]]:
    quiet = [run for run in every if run.config.sigma_x == 0]
    if not quiet:
        raise Undecided("no run without noise has finished")
    return quiet


def _listed(x: Sequence[float], table: Sequence[Sequence[float]]) -> str:
    """Means over seeds, each with its place."""
    columns = zip(x, zip(*table, strict=True), strict=False)
    return ", ".join(f"{sum(values) / len(values):.3g} at {place:g}" for place, values in columns)


def _conditions(config: OraclesConfig) -> list[Condition]:
    return of_the_data(config.dimension, config.k)


def _cell(
    k: int, *, distance: float = 0.01, accuracy: float = 1.0, robust: float = 0.9, sigma_x: float = 0.0
) -> tuple[OraclesConfig, OraclesResult]:
    result = OraclesResult(
        linear_accuracy=accuracy,
        linear_distance=distance,
        hard_accuracy=0.95,
        hard_attacked=robust,
        hard_certified=robust,
    )
    return OraclesConfig(k=k, sigma_x=sigma_x), result


def _linear_cells(power: float) -> list[tuple[OraclesConfig, OraclesResult]]:
    return [_cell(k, distance=k**power) for k in (8, 16, 32)] + [_cell(8, accuracy=0.6, sigma_x=1.0)]


CHECKS = (
    Check(
        claim_id="purification.sec3.linear",
        experiment=ORACLES,
        evaluate=linear,
        conditions=_conditions,
        satisfied=examples(*_linear_cells(-1.0)),
        violated=examples(*_linear_cells(-0.5)),
        controls=(
            Control(
                name="a random classifier",
                removes="learner",
                settings={"direction": "random"},
                cheap={"n": 500},
                why="A random direction is at a distance of order 1/sqrt(d), too, but never classifies.",
            ),
        ),
        reading="Along d = k^2: the distance from the boundary falls like d^-0.5, nearer than to the "
        "thresholded oracle's d^-0.25; the classifier is perfect without noise; at sigma_x = 1 it is nearer "
        "to a coin and the thresholded oracle nearer to perfect.",
    ),
    Check(
        claim_id="purification.sec3.threshold",
        experiment=ORACLES,
        evaluate=threshold,
        conditions=_conditions,
        satisfied=examples(_cell(8, robust=0.7), _cell(16, robust=0.8), _cell(32, robust=0.9)),
        violated=examples(_cell(8, robust=0.7), _cell(16, robust=0.6), _cell(32, robust=0.5)),
        controls=(
            Control(
                name="radius 1/sqrt(k)",
                removes="ball",
                settings={"power": 0.5},
                cheap={"n": 1000},
                why="A radius of the order of the codes themselves wakes and silences coordinates at will.",
            ),
        ),
        reading="Hard threshold at 1/(2 sqrt k), sign(0) = +1; the radius 1/k stands for all that are "
        "o(1/sqrt k). Its worst case is known exactly there: no coordinate can be pushed over the threshold.",
    ),
)
