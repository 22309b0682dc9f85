"""Checks of the question that lazy and convergence answer differently: a robust net near the start."""

import math
from collections.abc import Callable, Sequence

from karat.papers.convergence.checks.averages import mean
from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.vs_lazy import VS_LAZY, VsLazyResult
from karat.study.claim import Check, Finding, Outcome
from karat.study.curves import curves, power, say, with_caveat
from karat.study.evaluate import lower_bound_finding
from karat.study.run import Run, grouped

VsLazyRun = Run[VsLazyConfig, VsLazyResult]

ZERO_FUNCTION_LOSS = math.log(2)
"""Loss of the zero function: a robust loss above it proves that some training point is misclassified."""

HALFWAY = -0.25
"""Between the exponents in question, 0 and -1/2."""


def _dissolved(runs: Sequence[VsLazyRun]) -> Finding:
    """Exponent of the smallest flip radius in the network's d, paired against unpaired."""
    paired_runs, unpaired_runs = _padded(runs, "paired"), _padded(runs, "gaussian")
    paired = _exponent_in_d(paired_runs, lambda run: run.result.flip_radius, 0.0)
    unpaired = _exponent_in_d(unpaired_runs, lambda run: run.result.flip_radius, -0.5)
    local_paired, local_unpaired = (
        _exponent_in_d(cells, lambda run: run.result.flip_ratio, 0.0)
        for cells in (paired_runs, unpaired_runs)
    )
    C0 = paired_runs[0].config.C0
    return with_caveat(
        paired,
        f"Smallest flip radius of the most robust net found, C0 = {C0:g}, the same data zero-padded: "
        f"exponent {say(paired, 2)} in d for the paired start, {say(unpaired, 2)} for the unpaired one.",
        f"|f|/|grad f| at the input itself: {say(local_paired, 2)} and {say(local_unpaired, 2)}; twins "
        "that part near their kink leave a local gradient of order sqrt(d C0/sqrt m), which attacks cannot "
        "follow.",
        verdict=_nearer_zero(paired, unpaired),
    )


def _exists(runs: Sequence[VsLazyRun]) -> Finding:
    """Robust training accuracy at the smallest C0 of the paired ball, and losses against the kernel's."""
    paired = _images(runs, "paired")
    smallest = min(map(_radius, paired))
    cells = _with_radius(paired, smallest)
    # One data set without a robust net refutes the existence: the smallest accuracy counts.
    finding = lower_bound_finding(
        [run.result.largest_train_accuracy for run in cells], 1.0, deterministic=True
    )
    # The kernel function scaled into the ball is one net of it: the best net must not be worse.
    above = [run.config.C0 for run in paired if run.result.loss > run.result.convergence_loss * (1 + 1e-6)]
    test_accuracy = mean([run.result.test_accuracy for run in cells])
    tau, d = cells[0].config.tau, cells[0].config.side ** 2
    unpaired = [run.result.train_accuracy for run in _with_radius(_images(runs, "gaussian"), smallest)]
    comparison = f" (unpaired: {max(unpaired):.2f})" if unpaired else ""
    return with_caveat(
        finding,
        f"Smallest over {len(cells)} data sets of the robust training accuracy at tau = {tau:g} = "
        f"{tau * math.sqrt(d):.1f}/sqrt d in the (2, inf) ball C0 = {smallest:g}{comparison}; the net of "
        f"smallest loss has {test_accuracy:.2f} on test images.",
        f"The loss is below that of the scaled kernel function in {len(paired) - len(above)} of "
        f"{len(paired)} cells"
        + (f"; the others have C0 >= {min(above):g}, where the solver has not converged." if above else "."),
        "Accuracies are PGD's.",
    )


def _none(runs: Sequence[VsLazyRun]) -> Finding:
    """Certified lower bounds on the robust loss of every net of the unpaired ball, below the threshold."""
    unpaired = _images(runs, "gaussian")
    config = unpaired[0].config
    threshold = config.tau * math.sqrt(2 * config.side**2)
    radii = sorted(set(map(_radius, unpaired)))
    # The largest ball inside the regime is the hardest one for the claim.
    inside = [radius for radius in radii if radius <= threshold] or radii[:1]
    hardest = _with_radius(unpaired, inside[-1])
    finding = lower_bound_finding(
        [run.result.bound for run in hardest], ZERO_FUNCTION_LOSS, deterministic=True
    )
    enclosures = [
        f"C0 = {C0:g}: [{mean([run.result.bound for run in cells]):.2f}, "
        f"{mean([run.result.loss for run in cells]):.2f}]"
        for C0, cells in sorted(grouped(unpaired, _radius).items())
    ]
    frobenius = grouped(_images(runs, "gaussian", "frobenius"), _radius)
    certified = [
        f"R = {R:g}: {min(run.result.bound for run in cells):.2f}" for R, cells in sorted(frobenius.items())
    ]
    return with_caveat(
        finding,
        f"Best robust loss of the unpaired ball, certified below and found above: {', '.join(enclosures)}; "
        f"the threshold tau sqrt(2 d) is {threshold:.1f}.",
        f"Certified in the Frobenius ball: {', '.join(certified)}." if certified else "",
    )


def _nearer_zero(paired: Finding, unpaired: Finding) -> Outcome:
    """Holds if the paired exponent is surely nearer to 0 than to -1/2, and surely above the unpaired one."""
    if paired.interval is None or unpaired.interval is None:
        return "inconclusive"
    if paired.interval.high < HALFWAY:
        return "fails"
    apart = paired.interval.low > unpaired.interval.high
    return "holds" if apart and paired.interval.low > HALFWAY else "inconclusive"


def _exponent_in_d(
    runs: Sequence[VsLazyRun], value: Callable[[VsLazyRun], float], predicted: float
) -> Finding:
    x, table = curves(runs, lambda run: run.config.side**2, value)
    return power(x, table, predicted, resolution=0.15)


def _padded(runs: Sequence[VsLazyRun], start: str) -> list[VsLazyRun]:
    """Runs on zero-padded images, where only the network's d changes."""
    return [run for run in runs if run.config.start == start and run.config.padded_from is not None]


def _images(runs: Sequence[VsLazyRun], start: str, ball: str = "rows") -> list[VsLazyRun]:
    """Runs on images as they are."""
    same_start = [run for run in runs if run.config.start == start and run.config.padded_from is None]
    return [run for run in same_start if run.config.ball == ball]


def _with_radius(runs: Sequence[VsLazyRun], C0: float) -> list[VsLazyRun]:
    return [run for run in runs if run.config.C0 == C0]


def _radius(run: VsLazyRun) -> float:
    return run.config.C0


CHECKS = (
    Check(
        claim_id="convergence.vs-lazy",
        experiment=VS_LAZY,
        evaluate=_dissolved,
        reading="The quantity lazy's proof lives on is |grad f(W0)| ~ sqrt(d/2); pairing makes it 0. The "
        "flip radius is the smallest one at which PGD changes the prediction, its median over test images. "
        "Exponents 0 and -1/2 are in question: it holds if the interval lies above -1/4 and above the "
        "unpaired one.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.exists",
        experiment=VS_LAZY,
        evaluate=_exists,
        reading="A net found is a net that exists; robust accuracy by PGD. In a paired ball the linearised "
        "net scales with C0, so that the sign of a robust function fits into every ball.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.none",
        experiment=VS_LAZY,
        evaluate=_none,
        reading="Certified for every net of the ball, not only linearised ones: a convex problem over "
        "finitely many attacked points, with the largest gain that switching neurons can bring.",
        headline=True,
    ),
)
