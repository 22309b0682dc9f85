"""Checks of the question that lazy and convergence answer differently: a robust net near the start."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.vs_lazy import VS_LAZY, Enclosure, VsLazyResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import ERROR, LOSS, Finding, Margin
from karat.study.hypothesis import Condition, at_most, is_so
from karat.study.judging import Undecided, all_of, bound, exact_bound, noted, rate
from karat.study.run import Run, examples

VsLazyRun = Run[VsLazyConfig, VsLazyResult]

ZERO_FUNCTION_LOSS = math.log(2)
"""Loss of the zero function: a robust loss above it proves that some training point is misclassified."""

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
        f"Exponent in d of the smallest flip radius of the most robust net found, the same data zero-padded: "
        f"{paired} for the paired start, {unpaired} for the unpaired one.",
        "Radii are those at which an attack succeeds, medians over test images: upper bounds.",
    )


def _radii(runs: Sequence[VsLazyRun]) -> tuple[list[float], list[list[float]]]:
    """Dimensions and flip radii, a row per seed."""
    return curves(runs, lambda run: run.config.side**2, lambda run: run.result.flip_radius)


def _exists(runs: Sequence[VsLazyRun]) -> Finding:
    """Training points that an attack breaks at the smallest C0 of the paired ball."""
    paired = _started(_images(runs), "paired")
    if not paired:
        raise Undecided("no run has images as they are")
    smallest = min(map(_radius, paired))
    cells = [run for run in paired if _radius(run) == smallest]
    errors = [1 - run.result.largest_train_accuracy for run in cells]
    config, test_error = cells[0].config, sum(1 - run.result.test_accuracy for run in cells) / len(cells)
    below = sum(run.result.loss <= run.result.convergence_loss * (1 + 1e-6) for run in cells)
    return noted(
        bound(errors, "at most", 0.0, ERROR),
        f"Robust training error under PGD at tau = {config.tau:g} = {config.tau * config.side:.1f}/sqrt d in "
        f"the (2, inf) ball C0 = {smallest:g}; the net of smallest loss has the robust test error "
        f"{test_error:.2f}.",
        f"Its loss is at most that of the scaled kernel function in {below} of {len(cells)} cells.",
    )


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
    largest_train_accuracy=1.0,
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
        "flip radius is the smallest one at which PGD changes the prediction, its median over test images.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.exists",
        experiment=VS_LAZY,
        evaluate=_exists,
        conditions=_paired_start,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, largest_train_accuracy=0.9))),
        controls=(
            Control(
                name="no pairs",
                removes="structure",
                settings={"start": "gaussian"},
                cheap={**_SMALL, "C0": 1.0, "side": 28, "padded_from": None},
                why="in lazy's own ball around an unpaired start no net is robust",
            ),
        ),
        reading="A net found is a net that exists; robust accuracy by PGD, no certificate. In a paired ball "
        "the linearised net scales with C0, so that the sign of a robust function fits into every ball.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.none",
        experiment=VS_LAZY,
        evaluate=_none,
        conditions=_lazy_regime,
        satisfied=examples((_UNPAIRED, replace(_MEASURED, bound=0.7))),
        violated=examples((_UNPAIRED, replace(_MEASURED, bound=0.69))),
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
