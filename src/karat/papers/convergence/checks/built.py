"""Checks of the network of the proof: its distance from the kernel function, and its certified loss."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.activations import SMOOTHING, smoothed_relu_lipschitz
from karat.papers.convergence.experiments.built import BUILT, BuiltConfig, BuiltResult
from karat.papers.convergence.experiments.random_features import FEATURES, FeaturesConfig, FeaturesResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import LOSS, RATIO, Finding, Margin
from karat.study.hypothesis import Condition, at_most, is_so, not_checkable
from karat.study.judging import (
    Undecided,
    all_of,
    certified,
    exact_bound,
    noted,
    one_constant,
    share,
    vacuous_if,
)
from karat.study.run import Run, by_setting, examples, grouped

BuiltRun = Run[BuiltConfig, BuiltResult]
FeaturesRun = Run[FeaturesConfig, FeaturesResult]

FREE_OF_WIDTH = Margin(0.25, "a radius that grows like sqrt m has the exponent 1/2, one free of m has 0")


def _existence(config: BuiltConfig) -> list[Condition]:
    """Hypotheses of Theorem 5.2."""
    return [
        is_so("Asm 3.1: the loss is convex, smooth and 1-Lipschitz", True),
        is_so("Asm 5.1, 5.3: phi' is bounded and Lipschitz", True),
        is_so("compatible caps on the unit sphere", True),
        not_checkable("Asm 5.2", "a robust function for every tol; asm5.2 looks at some"),
        not_checkable("m >= C R^4/tol^2", "C is hidden; a net found at a smaller width exists there, too"),
    ]


def _smooth(config: FeaturesConfig) -> list[Condition]:
    """Hypotheses of Proposition C.1 and equation (19)."""
    C = smoothed_relu_lipschitz(SMOOTHING)
    return [
        at_most("Asm 5.1: phi' is C-Lipschitz, C = 1", C, 1.0),
        is_so("Asm 5.3: |phi'| <= C, C = 1", True),
        is_so("g has a finite RF norm, here 1", True),
        is_so("rows from N(0, I)", True),
    ]


def _built_robust(runs: Sequence[BuiltRun]) -> Finding:
    """Certified robust loss of the widest built net against tol, in a ball that does not grow with m."""
    by_width = sorted(grouped(runs, lambda run: run.config.m).items())
    if not by_width:
        raise Undecided("no run was found")
    _, widest = by_width[-1]
    results = [run.result for run in widest]
    loss = certified(
        [result.robust_loss for result in results],
        [result.certified_loss for result in results],
        widest[0].config.tol,
        LOSS,
    )
    m, radii = curves(runs, lambda run: run.config.m, lambda run: run.result.frobenius)
    constant = one_constant(m, radii, "at most", FREE_OF_WIDTH)
    shares = [run.result.frobenius / max(run.result.random_feature_norm, 1e-300) for run in runs]
    inside = exact_bound(shares, "at most", 1.0, RATIO, "|W - W_0| over the radius |g|_RF of the proof")
    rows = sum(result.row_radius for result in results) / len(results)
    norm = sum(result.kernel_norm for result in results) / len(results)
    error = sum(result.interpolant_error for result in results) / len(results)
    return noted(
        all_of(loss, constant, inside),
        f"The kernel function has norm {norm:.1f} and error {error:.2f} on the caps; the net lies within "
        f"{max(shares):.2f} |g|_RF of its start. Rows move by {rows:.0f}/sqrt m: on lazy's axis C0 = "
        f"{rows:.0f}.",
    )


def _distance(
    runs: Sequence[FeaturesRun],
    found: Callable[[FeaturesResult], Sequence[float]],
    certified: Callable[[FeaturesResult], Sequence[float]],
    limit: Callable[[FeaturesResult], float],
) -> Finding:
    """Share of draws whose certified distance from the section lies within the bound, which has to say "
    "something."""
    covered = [run for run in runs if run.config.d == 3]
    if not covered:
        raise Undecided("no run has a sphere that is covered")
    pairs = [pair for run in runs for pair in zip(found(run.result), certified(run.result), strict=True)]
    if any(seen > proven + 1e-9 for seen, proven in pairs):
        raise Undecided("a search goes beyond its certificate")
    # A bound above g itself would hold for the zero function.
    telling = [run for run in covered if limit(run.result) < run.result.size]
    judged = _most_draws(telling or covered)
    within = [value <= limit(run.result) for run in judged for value in certified(run.result)]
    finding = share(sum(within), len(within), "at least", 1 - judged[0].config.p_fail)
    finding = vacuous_if(not telling, "the bound exceeds sup |g|.", finding)
    words = []
    for cells in by_setting(runs):
        config, results = cells[0].config, [run.result for run in cells]
        seen = max(max(found(result)) for result in results)
        proven = max(max(certified(result)) for result in results)
        words.append(
            f"d {config.d}, m {config.m}: {seen:.3f} found, "
            + (f"{proven:.3f} certified" if math.isfinite(proven) else "no certificate")
            + f", bound {limit(results[0]):.3f}"
        )
    size = judged[0].result.size
    return noted(finding, f"sup |g| = {size:.3f}. Largest distance of all draws: {'; '.join(words)}.")


def _most_draws(runs: Sequence[FeaturesRun]) -> Sequence[FeaturesRun]:
    """The setting with the most draws: other widths share its seeds and are no independent draws."""
    return max(by_setting(runs), key=lambda cells: sum(run.config.draws for run in cells))


def _net(runs: Sequence[FeaturesRun]) -> Finding:
    """The built net's distance from its kernel function against (19)."""
    return _distance(runs, lambda r: r.net_error, lambda r: r.net_certified, lambda r: r.net_bound)


def _finite_sum(runs: Sequence[FeaturesRun]) -> Finding:
    """The random features' distance from the kernel function against Proposition C.1."""
    return _distance(
        runs, lambda r: r.features_error, lambda r: r.features_certified, lambda r: r.features_bound
    )


_BUILT = BuiltResult(
    error=0.1,
    bound=10.0,
    finite_sum_error=0.1,
    finite_sum_bound=5.0,
    random_feature_norm=30.0,
    kernel_norm=4.0,
    row_radius=30.0,
    frobenius=10.0,
    interpolant_error=0.1,
    robust_loss=0.05,
    certified_loss=0.1,
    slope=3.0,
    spacing=0.01,
)
_FEATURES = FeaturesResult(
    size=0.4,
    features_error=[0.02] * 20,
    features_certified=[0.03] * 20,
    features_bound=0.2,
    net_error=[0.02] * 20,
    net_certified=[0.03] * 20,
    net_bound=0.2,
    row_radius=1.0,
)
_DRAWS = FeaturesConfig(m=1000, draws=20)
_FAR = [0.4] * 20
_ONE_CELL = {"m": 1000, "d": 3, "draws": 3}


def _widths(result: BuiltResult) -> list[BuiltRun]:
    """The result at the largest of three widths, a good one at the others."""
    return examples((BuiltConfig(m=100), _BUILT), (BuiltConfig(m=400), _BUILT), (BuiltConfig(m=1600), result))


CHECKS = (
    Check(
        claim_id="convergence.thm5.2",
        experiment=BUILT,
        evaluate=_built_robust,
        conditions=_existence,
        satisfied=_widths(_BUILT),
        violated=_widths(replace(_BUILT, robust_loss=0.4, certified_loss=0.5)),
        controls=(
            Control(
                name="printed signs",
                removes="formula",
                settings={"construction": "printed"},
                cheap={"grid": 200},
                why="without the factors a_i the two halves cancel and the net is nearly zero",
            ),
            Control(
                name="zero function",
                removes="learner",
                settings={"construction": "zero"},
                cheap={"grid": 200},
                why="the start is zero everywhere, with a loss above tol",
            ),
            Control(
                name="shifted rows",
                removes="ball",
                settings={"construction": "shifted"},
                cheap={"grid": 200},
                why="a shift of every row by the same length is of order sqrt m in all",
            ),
        ),
        reading="The proof's net, with corrected signs and factors. Certified by a grid, gradients on it and "
        "a bound on curvature.",
        headline=True,
    ),
    Check(
        claim_id="convergence.thm5.2.built",
        experiment=FEATURES,
        evaluate=_net,
        conditions=_smooth,
        satisfied=examples((_DRAWS, _FEATURES)),
        violated=examples((_DRAWS, replace(_FEATURES, net_error=_FAR, net_certified=_FAR))),
        controls=(
            Control(
                name="printed signs",
                removes="formula",
                settings={"construction": "printed"},
                cheap=_ONE_CELL,
                why="without the factors a_i the two halves cancel",
            ),
            Control(
                name="zero function",
                removes="learner",
                settings={"construction": "zero"},
                cheap=_ONE_CELL,
                why="the start is off by all of g",
            ),
            Control(
                name="wrong sign",
                removes="sign",
                settings={"construction": "minus"},
                cheap=_ONE_CELL,
                why="minus the net is off by twice g",
            ),
        ),
        reading="Equation (19) with the curvature term of rows |g|_RF/sqrt m; g a section of the kernel, "
        "|g|_RF = 1, on all of the sphere in three dimensions. The printed signs, without a_i, are a "
        "control.",
    ),
    Check(
        claim_id="convergence.propC.1",
        experiment=FEATURES,
        evaluate=_finite_sum,
        conditions=_smooth,
        satisfied=examples((_DRAWS, _FEATURES)),
        violated=examples((_DRAWS, replace(_FEATURES, features_error=_FAR, features_certified=_FAR))),
        controls=(
            Control(
                name="zero features",
                removes="learner",
                settings={"features": "zero"},
                cheap=_ONE_CELL,
                why="the zero function is off by all of g",
            ),
            Control(
                name="wrong sign",
                removes="sign",
                settings={"features": "minus"},
                cheap=_ONE_CELL,
                why="minus the finite sum is off by twice g",
            ),
        ),
        reading="M = m/2 features of a section of the smoothed ReLU's kernel, |g|_RF = 1 and C = 1, on all "
        "of the sphere in three dimensions; the search in others can only refute.",
    ),
)
