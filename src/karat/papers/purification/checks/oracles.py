"""Checks of Section 3: what a linear and a thresholded classifier tolerate."""

from collections.abc import Sequence

from karat.papers.purification.bounds_hypotheses import of_the_data
from karat.papers.purification.checks.readings import average, halfway
from karat.papers.purification.experiments.oracles import ORACLES, OraclesConfig, OraclesResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import ACCURACY, Finding
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, exact_bound, noted, rate
from karat.study.run import Run, examples, grouped

OracleRuns = Sequence[Run[OraclesConfig, OraclesResult]]

COIN = 0.75
"""Half-way between a coin and a perfect classifier."""

CHEBYSHEV = 2.0
"""The radius, in standard deviations of the distance from the boundary of a linear classifier."""


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
            bound(accuracy, "at least", 1 - COIN, ACCURACY),
            bound(hard, "at least", COIN, ACCURACY),
        ),
        f"Mean distance from the boundary: {_listed(d, distances)}. At sigma_x = "
        f"{noisy[0].config.sigma_x:g} and d = {noisy[0].config.dimension} the accuracy is "
        f"{average(accuracy):.3f}, that of the thresholded oracle {average(hard):.3f}.",
    )


def any_linear(every: OracleRuns) -> Finding:
    """Robust accuracy of linear classifiers along several directions at a radius of order 1/sqrt(d).

    Args:
        every: runs without noise in at least three dimensions; others are left out.
    """
    quiet = _quiet(every)
    # Chebyshev: at r standard deviations of the distance at most 1/r^2 of the inputs are farther away.
    most = 1 / CHEBYSHEV**2
    best, hard = (
        [[value(run.result) for run in runs] for _, runs in sorted(grouped(quiet, _dimension).items())]
        for value in (lambda r: max(r.any_robust), lambda r: r.hard_robust)
    )
    return noted(
        all_of(
            *(bound(values, "at most", most, ACCURACY) for values in best),
            *(bound(values, "at least", COIN, ACCURACY) for values in hard[1:]),
        ),
        f"At {quiet[0].config.radius:g} sqrt(E z_1^2) the best direction keeps {max(map(max, best)):.3f} of "
        f"the inputs, the thresholded oracle {min(map(min, hard)):.3f} or more.",
    )


def _dimension(run: Run[OraclesConfig, OraclesResult]) -> int:
    return run.config.dimension


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
    k: int, *, distance: float = 0.01, accuracy: float = 1.0, robust: float = 0.1, sigma_x: float = 0.0
) -> tuple[OraclesConfig, OraclesResult]:
    result = OraclesResult(
        linear_accuracy=accuracy,
        linear_distance=distance,
        any_robust=[robust, robust],
        hard_accuracy=0.95,
        hard_robust=0.85 + 1e-3 * k,
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
        "to a coin and the thresholded oracle nearer to perfect, in a dimension far beyond 8 k log d.",
    ),
    Check(
        claim_id="purification.sec3.linear.any",
        experiment=ORACLES,
        evaluate=any_linear,
        conditions=_conditions,
        satisfied=examples(*(_cell(k, robust=0.1 + 1e-3 * k) for k in (16, 32, 64))),
        violated=examples(*(_cell(k, robust=0.4 + 1e-3 * k) for k in (16, 32, 64))),
        controls=(
            Control(
                name="a tenth of the radius",
                removes="ball",
                settings={"radius": 0.2},
                cheap={"n": 500},
                why="Well inside 1/sqrt(d) the direction of the labels is robust.",
            ),
        ),
        reading="For M = I the squared distance of an input from <a, x> = 0 has the mean E z_1^2 whatever a "
        "is, of order 1/d: at twice its root no direction keeps more than 1/4 of the inputs (Chebyshev). "
        "Four directions are run; a bias would favour one label at the cost of the other. At the same radius "
        "the thresholded oracle keeps at least 3/4, from the second smallest k on.",
    ),
)
