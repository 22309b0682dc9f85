"""Check of finite sums of quadratic-ReLU features: uniform distances and the size of their coefficients."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.quadratic_features import (
    QUADRATIC_FEATURES,
    QuadraticFeaturesConfig,
    QuadraticFeaturesResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import RATIO, Finding, Margin
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, certified, every_setting, noted, one_constant, vacuous_if
from karat.study.run import Run, examples

FeaturesRun = Run[QuadraticFeaturesConfig, QuadraticFeaturesResult]

BOUNDED = Margin(0.25, "sums of squares that do not fall like 1/M grow with the exponent 1")


def _theorem(config: QuadraticFeaturesConfig) -> list[Condition]:
    """Hypotheses of Theorem C.1, hidden constants read as 1."""
    return [
        is_so("h is Lipschitz and of the kernel's space", config.target == "space"),
        is_so("M >= tol^-(d+1) log(tol^-(d+1)/p_fail)", True, "M is this number"),
        is_so("rows uniform on the sphere of radius sqrt(d)", True),
    ]


def _approximated(runs: Sequence[FeaturesRun]) -> Finding:
    """Certified distances over tol at every tol, and one constant for M sum |c|^2."""
    if not runs:
        raise Undecided("no run was found")

    def near(same: Sequence[FeaturesRun]) -> Finding:
        tol = same[0].config.tol
        found = [run.result.error / tol for run in same]
        proven = [run.result.certified / tol for run in same]
        finding = certified(found, proven, 1.0, RATIO)
        size = min(run.result.size for run in same)
        return vacuous_if(size <= tol, f"the zero function is within {size:.2f} of h.", finding)

    M, weights = curves(runs, lambda run: run.result.features, lambda run: run.result.weight)
    sizes = [run.result.size for run in runs]
    return noted(
        all_of(every_setting(runs, near), one_constant(M, weights, "at most", BOUNDED)),
        f"Distance over tol; sup |h| {min(sizes):.2f} to {max(sizes):.2f}, M {min(M):g} to {max(M):g}, M sum "
        f"|c|^2 {min(map(min, weights)):.2f} to {max(map(max, weights)):.2f}.",
    )


def _sizes(result: QuadraticFeaturesResult) -> list[FeaturesRun]:
    """The result at three tolerances."""
    return examples(
        *(
            (QuadraticFeaturesConfig(tol=tol), replace(result, features=M))
            for tol, M in ((0.5, 100), (0.4, 250), (0.3, 900))
        )
    )


_NEAR = QuadraticFeaturesResult(features=100, size=1.0, error=0.02, certified=0.1, weight=1.0)

CHECKS = (
    Check(
        claim_id="convergence.thmC.1",
        experiment=QUADRATIC_FEATURES,
        evaluate=_approximated,
        conditions=_theorem,
        satisfied=_sizes(_NEAR),
        violated=_sizes(replace(_NEAR, error=0.7, certified=0.8)),
        controls=(
            Control(
                name="degree 4",
                removes="structure",
                settings={"target": "degree 4"},
                why="the space holds no even function beyond quadratic forms",
            ),
        ),
        reading="Random functions of norm 1 in three dimensions; coefficients by least squares with a ridge. "
        "Hidden constants read as 1.",
    ),
)
