"""Checks of the question that lazy and convergence answer differently: a robust net near the start."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.core.extended import power
from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.vs_lazy import VS_LAZY, Enclosure, VsLazyResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import ERROR, LOSS, Finding, Margin, Unit
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import Undecided, all_of, exact_bound, noted, rate
from karat.study.run import Run, examples

VsLazyRun = Run[VsLazyConfig, VsLazyResult]

ZERO_FUNCTION_LOSS = math.log(2)
"""Loss of the zero function: a robust loss above it proves that some training point is misclassified."""

ROUNDING = 1e-5
"""By which single precision may turn a bound that is met."""

DIFFERENCE = Unit("difference of losses")

HALFWAY = Margin(0.25, "half-way between the exponents in question, 0 and -1/2")


def _dissolved(runs: Sequence[VsLazyRun]) -> Finding:
    """Exponent of the smallest flip radius in the network's d, paired against unpaired."""
    padded = [run for run in runs if run.config.padded_from is not None]
    if not padded:
        raise Undecided("no run has zero-padded images")
    paired = rate(*_radii(_started(padded, "paired")), 0.0, HALFWAY)
    # Lazy's theorem bounds the radius from above: a steeper fall is no contradiction.
    unpaired = rate(*_radii(_started(padded, "gaussian")), -HALFWAY.size, "at most")
    return noted(
        all_of(paired, unpaired),
        "Exponent in d of the smallest flip radius of the most robust net found, the same data "
        f"zero-padded: {paired} for the paired start, {unpaired} for the unpaired one.",
        "Radii are those at which an attack succeeds, medians over test images: upper bounds.",
    )


def _radii(runs: Sequence[VsLazyRun]) -> tuple[list[float], list[list[float]]]:
    """Dimensions and flip radii, a row per seed."""
    return curves(runs, lambda run: run.config.side**2, lambda run: _defined(run.result.flip_radius))


def _defined(value: float | None) -> float:
    return math.nan if value is None else value


def _exists(runs: Sequence[VsLazyRun]) -> Finding:
    """Training points on which no certificate says that a net of the ball keeps its label."""
    paired = _started(_images(runs), "paired")
    if not paired:
        raise Undecided("no run has images as they are")
    errors = [1 - run.result.certified_accuracy for run in paired]
    smallest = min(map(_radius, paired))
    cells = [run for run in paired if _radius(run) == smallest]
    config, accuracy = cells[0].config, sum(run.result.train_accuracy for run in cells) / len(cells)
    return noted(
        exact_bound(errors, "at most", 0.0, ERROR, "a certificate for every ball"),
        f"Training points without a certificate at tau = {config.tau:g} = "
        f"{config.tau * config.side:.1f}/sqrt d; the certificate does not look at the radius of the ball. "
        f"The net of smallest loss in the (2, inf) ball C0 = {smallest:g} withstands PGD on a share "
        f"{accuracy:.3f}.",
    )


def _kernel(runs: Sequence[VsLazyRun]) -> Finding:
    """Loss under the attack less that of the scaled kernel function, in paired balls inside the regime."""
    paired = _started([run for run in runs if run.config.padded_from is None], "paired")
    inside = [run for run in paired if _width_needed(run.config) <= run.config.m]
    if not inside:
        raise Undecided("no paired ball is small enough for the width")
    excess = [run.result.loss - run.result.convergence_loss for run in inside]
    radii = ", ".join(f"{C0:g}" for C0 in sorted(set(map(_radius, inside))))
    return noted(
        exact_bound(excess, "at most", 0.0, DIFFERENCE, "losses at the points that the attack picks"),
        f"Largest excess over {len(inside)} cells of both balls, radii {radii}.",
    )


def _width_needed(config: VsLazyConfig) -> float:
    return power(config.C0, 4)


def _none(runs: Sequence[VsLazyRun]) -> Finding:
    """Certified lower bounds on the robust loss of every net of the unpaired ball, below the threshold."""
    unpaired = _started(_images(runs), "gaussian")
    if not unpaired:
        raise Undecided("no run has images as they are")
    radii, threshold = sorted(set(map(_radius, unpaired))), _threshold(unpaired[0].config)
    # The largest ball inside the regime is the hardest one for the claim.
    largest = max((radius for radius in radii if radius <= threshold), default=radii[0])
    hardest = [run for run in unpaired if _radius(run) == largest]
    lower = [run.result.bound for run in hardest]
    if any(run.result.bound > run.result.loss + ROUNDING for run in hardest):
        raise Undecided("a net of the ball has a smaller loss than the bound that should lie below all")
    found = min(run.result.loss for run in hardest)
    why = "a convex problem bounds every net of the ball"
    return noted(
        exact_bound(lower, "at least", ZERO_FUNCTION_LOSS, LOSS, why),
        f"Best robust loss of the ball C0 = {largest:g}: certified at least {min(lower):.2f}, found "
        f"{found:.2f}.",
    )


def _threshold(config: VsLazyConfig) -> float:
    return config.tau * math.sqrt(2 * config.side**2)


def _lazy_regime(config: VsLazyConfig) -> list[Condition]:
    return [
        at_most("C0 <= tau sqrt(2 d)", config.C0, _threshold(config)),
        is_so("unpaired start", config.start == "gaussian"),
    ]


def _kernel_regime(config: VsLazyConfig) -> list[Condition]:
    """The width of Theorem 5.2, its tolerance read as 1."""
    return [*_paired_start(config), at_least("m >= C0^4", config.m, _width_needed(config))]


def _paired_start(config: VsLazyConfig) -> list[Condition]:
    return [is_so("paired start", config.start == "paired")]


def _radius(run: VsLazyRun) -> float:
    return run.config.C0


def _images(runs: Sequence[VsLazyRun]) -> list[VsLazyRun]:
    """Runs on images as they are, in lazy's ball."""
    return [run for run in runs if run.config.padded_from is None and run.config.ball == "rows"]


def _started(runs: Sequence[VsLazyRun], start: str) -> list[VsLazyRun]:
    """Runs with a start; all of them where there is no other start to choose, as in a control."""
    return [run for run in runs if run.config.start == start] or list(runs)


_EXAMPLE = VsLazyConfig(side=10, m=100, C0=1.0)
_MEASURED = VsLazyResult(
    loss=0.5,
    bound=0.4,
    linear=Enclosure(loss=0.5, bound=0.45),
    train_accuracy=1.0,
    certified_accuracy=1.0,
    test_accuracy=0.9,
    clean_accuracy=1.0,
    value=0.1,
    gradient=0.1,
    flip_ratio=1.0,
    flip_radius=0.3,
    start_gradient=0.0,
    row_movement=1.0,
    frobenius_movement=1.0,
    kernel_norm=4.0,
    random_feature_norm=10.0,
    convergence_loss=0.6,
    lazy_loss=0.8,
)
_UNPAIRED = replace(_EXAMPLE, start="gaussian")


def _dimensions(config: VsLazyConfig, power: float) -> list[tuple[VsLazyConfig, VsLazyResult]]:
    """Runs on padded images whose flip radius follows a power of d."""
    return [
        (replace(config, side=side, padded_from=10), replace(_MEASURED, flip_radius=side ** (2 * power)))
        for side in (10, 14, 20)
    ]


_SMALL = {"m": 200, "n": 12, "n_test": 40, "steps": 40, "polish": 5, "ball": "rows"}

CHECKS = (
    Check(
        claim_id="convergence.vs-lazy",
        experiment=VS_LAZY,
        evaluate=_dissolved,
        satisfied=examples(*_dimensions(_EXAMPLE, 0.0), *_dimensions(_UNPAIRED, -0.5)),
        violated=examples(*_dimensions(_EXAMPLE, -0.5), *_dimensions(_UNPAIRED, -0.5)),
        controls=(
            Control(
                name="no pairs",
                removes="structure",
                settings={"start": "gaussian"},
                cheap={**_SMALL, "C0": 8.0, "padded_from": 7},
                why="an unpaired start keeps its gradient of sqrt(d/2)",
            ),
        ),
        reading="The quantity lazy's proof lives on is |grad f(W0)| ~ sqrt(d/2); pairing makes it 0. The "
        "flip radius is the smallest one at which PGD or PGD on noisy copies changes the prediction, its "
        "median over test images.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.exists",
        experiment=VS_LAZY,
        evaluate=_exists,
        conditions=_paired_start,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, certified_accuracy=0.9))),
        controls=(
            Control(
                name="no pairs",
                removes="structure",
                settings={"start": "gaussian"},
                cheap={**_SMALL, "m": 600, "C0": 1.0, "side": 28, "padded_from": None},
                why="in lazy's own ball around an unpaired start no net is robust",
            ),
        ),
        reading="Certified for one net that is built: where all twins move along the widest linear "
        "direction the net has the sign of this linear function, however little they move. Balls, as lazy "
        "has them; for bias-free nets caps of the angle arcsin tau are the same.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.loss",
        experiment=VS_LAZY,
        evaluate=_kernel,
        conditions=_kernel_regime,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, loss=0.7))),
        controls=(
            Control(
                name="no pairs",
                removes="structure",
                settings={"start": "gaussian"},
                cheap={**_SMALL, "C0": 1.0, "side": 28, "padded_from": None},
                why="an unpaired start has a loss of its own, which a small ball cannot undo",
            ),
        ),
        reading="The surrogate loss L_A with A = PGD, which is what the theorem speaks of. Constants read "
        "as 1.",
    ),
    Check(
        claim_id="convergence.vs-lazy.none",
        experiment=VS_LAZY,
        evaluate=_none,
        conditions=_lazy_regime,
        satisfied=examples((_UNPAIRED, replace(_MEASURED, loss=0.8, bound=0.7))),
        violated=examples((_UNPAIRED, replace(_MEASURED, loss=0.8, bound=0.69))),
        controls=(
            Control(
                name="pairs",
                removes="structure",
                settings={"start": "paired"},
                cheap={**_SMALL, "C0": 4.0, "side": 28, "padded_from": None},
                why="a paired ball holds nets of smaller loss than the zero function",
            ),
        ),
        reading="Certified for every net of the ball, not only linearised ones: a convex problem over "
        "finitely many attacked points, with the largest gain that switching neurons can bring.",
        headline=True,
    ),
)
